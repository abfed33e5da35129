package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

type place struct {
	value float64
	where report.Where
	watch *Watch
}

// figures are those of nodes, then those that reports tell of each rank.
func (m *merger) figures() {
	for i, s := range spread {
		var values []place
		for k, w := range m.list {
			if f := w.figures[i]; f.unit != "" {
				where := report.Where{Node: w.node()}
				if len(w.report.Ranks) == 1 {
					where.Rank = w.report.Ranks[0].Rank
				}
				values = append(values, place{m.out.Nodes[k].Figures[s.metric.Name], where, w})
			}
		}
		m.take(s.metric, "nodes", values, s.smallest)
		if i == 0 && len(values) > 0 {
			m.lead = worst(values, false).watch
		}
	}
	if waits := m.waits(); len(waits) > len(m.list) { // else nodes are ranks
		m.take(metric.InputWait, "ranks", waits, false)
	}
	if rates := m.ofRanks(func(r report.Rank) *float64 { return r.BatchesPerS }); len(rates) > len(m.list) {
		m.take(metric.BatchesPerS, "ranks", rates, true)
	}
}

// take adds a figure that any node tells.
func (m *merger) take(d metric.Desc, of string, values []place, smallest bool) {
	if len(values) == 0 {
		return
	}
	w := worst(values, smallest)
	s := report.Spread{Metric: d.Name, Of: of, Unit: string(d.Unit), N: len(values), Median: median(values),
		Worst: w.value, Where: w.where, Difference: d.Unit == metric.Ratio}
	switch skew := s.Worst - s.Median; {
	case s.Difference:
		s.Skew = &skew
	case s.Median != 0:
		skew = s.Worst / s.Median
		s.Skew = &skew
	}
	m.out.Figures = append(m.out.Figures, s)
}

func worst(values []place, smallest bool) place {
	by := func(a, b place) int { return cmp.Compare(a.value, b.value) }
	if smallest {
		return slices.MinFunc(values, by)
	}
	return slices.MaxFunc(values, by)
}

func median(values []place) float64 {
	xs := make([]float64, len(values))
	for i, v := range values {
		xs[i] = v.value
	}
	x, _ := stat.Quantile(xs, 0.5) // there are some
	return x
}

func (m *merger) ofRanks(get func(report.Rank) *float64) (list []place) {
	for _, w := range m.list {
		for _, r := range w.report.Ranks {
			if x := get(r); x != nil && stat.Finite(*x) {
				list = append(list, place{*x, report.Where{Node: w.node(), Rank: r.Rank}, w})
			}
		}
	}
	return list
}

// waits are the input waits of all ranks. A node that tells none of its ranks stands for its one.
func (m *merger) waits() []place {
	list := m.ofRanks(func(r report.Rank) *float64 { return r.InputWaitRatio })
	for k, w := range m.list {
		if x, ok := m.out.Nodes[k].Figures[metric.InputWait.Name]; ok && len(w.report.Ranks) == 0 {
			list = append(list, place{stat.Share(x), report.Where{Node: w.node()}, w})
		}
	}
	return list
}

// stragglers are the ranks that wait for data more than most, by as much as makes a finding of one machine's ranks
// (job/straggler). Where most wait as long, none holds the others back.
func (m *merger) stragglers() {
	waits := m.waits()
	if len(waits) < 2 {
		return
	}
	usual := median(waits)
	if p := worst(waits, false); p.value-usual >= diagnose.Moderate.Value {
		m.first = p.watch
	}
	for _, p := range waits {
		if above := p.value - usual; above >= diagnose.Moderate.Value {
			m.out.Stragglers = append(m.out.Stragglers, report.Straggler{Where: p.where, InputWaitRatio: p.value,
				Above: above, Severity: diagnose.Grade(above), Rule: p.watch.report.Verdict.Rule})
		}
	}
	slices.SortStableFunc(m.out.Stragglers, func(a, b report.Straggler) int { return cmp.Compare(b.Above, a.Above) })
	m.out.StragglersN = len(m.out.Stragglers)
	m.out.Stragglers = m.out.Stragglers[:min(m.out.StragglersN, report.MaxStragglers)]
}

// verdict says what bounds the nodes, and who lacks data most.
func (m *merger) verdict() {
	v := &m.out.Verdict
	count := map[report.Class]int{}
	for _, w := range m.list {
		if w.report.Verdict.Class != "" {
			count[w.report.Verdict.Class]++
		}
	}
	for class, n := range count {
		v.Classes = append(v.Classes, report.ClassNodes{Class: class, Nodes: n})
	}
	slices.SortFunc(v.Classes, func(a, b report.ClassNodes) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Class, b.Class))
	})
	stall, known := m.spreadOf(metric.DataStall.Name)
	v.Grade = report.Info
	if known {
		v.Lead, v.Grade, v.Rule = &stall.Where, diagnose.Grade(stall.Worst), m.lead.report.Verdict.Rule
	}
	switch {
	case m.out.StragglersN > 0:
		s := m.out.Stragglers[0]
		wait := " waits for data "
		if m.out.StragglersN > 1 {
			wait = " waits for data longest: "
		}
		v.Statement = fmt.Sprintf("%s of its time; the median of %d ranks is %s. Where ranks exchange gradients at "+
			"each step, all go at the pace of the slowest.",
			sentence(s.Where.String())+wait+unit.Percent(s.InputWaitRatio), len(m.waits()),
			unit.Percent(s.InputWaitRatio-s.Above))
	case known && stall.Worst-stall.Median >= diagnose.Moderate.Value:
		v.Statement = fmt.Sprintf("%s lacks data most, %s of the time; the median of %d nodes is %s.",
			sentence(stall.Where.String()), unit.Percent(stall.Worst), stall.N, unit.Percent(stall.Median))
	case known && stall.Worst >= diagnose.Moderate.Value:
		v.Statement = fmt.Sprintf("All nodes lack data alike: the median %s of the time, %s on %s, the worst.",
			unit.Percent(stall.Median), unit.Percent(stall.Worst), stall.Where)
	case known:
		v.Statement = fmt.Sprintf("No node lacks data for more than %s of its time.", unit.Percent(stall.Worst))
	default:
		v.Statement = "No report says for how long its trainer lacks data."
	}
}

func (m *merger) spreadOf(name string) (report.Spread, bool) {
	for _, s := range m.out.Figures {
		if s.Metric == name && s.Of == "nodes" {
			return s, true
		}
	}
	return report.Spread{}, false
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
