package document

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// group is what was measured under one set of labels: a row of a table.
type group struct {
	labels map[string]string
	values map[string]report.Metric
}

// groups gathers a probe's measurements by their labels, in order of first appearance.
func groups(r *report.Report, probe string) []group {
	var list []group
	index := map[string]int{}
	for _, m := range r.Measurements {
		if m.Probe != probe {
			continue
		}
		var key strings.Builder
		for _, name := range report.RowLabels(m.Labels) {
			key.WriteString(strconv.Quote(name) + strconv.Quote(m.Labels[name]))
		}
		i, known := index[key.String()]
		if !known {
			i = len(list)
			index[key.String()] = i
			list = append(list, group{labels: map[string]string{}, values: map[string]report.Metric{}})
		}
		maps.Copy(list[i].labels, m.Labels)
		list[i].values[m.Metric] = m.Value
	}
	return list
}

// one gives the first of the metrics that the group has, nil where it has none.
func (g group) one(metrics ...string) *report.Metric {
	for _, name := range metrics {
		if m, ok := g.values[name]; ok {
			return &m
		}
	}
	return nil
}

// words joins the labels' values; the usual case, a handle that is kept, is left out.
func (g group) words(names ...string) string {
	var list []string
	for _, n := range names {
		if w := g.labels[n]; w != "kept" {
			list = append(list, w)
		}
	}
	return joined(" ", list...)
}

func differ(list []group, label string) bool { return len(values(list, label)) > 1 }

// varying lists those of the labels that differ among the groups, and what the others say of all of them.
func varying(list []group, labels ...string) (vary []string, shared string) {
	var same []string
	for _, l := range labels {
		if differ(list, l) {
			vary = append(vary, l)
		} else if len(list) > 0 {
			same = append(same, list[0].words(l))
		}
	}
	return vary, joined(", ", same...)
}

// count reads a label that is a count; what is none is beyond all others, and not ok. Digits only: a label is no place
// for signs.
func count(label string) (n int64, ok bool) {
	if u, err := strconv.ParseUint(label, 10, 62); err == nil {
		return int64(u), true
	}
	return math.MaxInt64, false
}

// byCount orders groups by labels that are counts; what is none comes last.
func byCount(list []group, labels ...string) {
	slices.SortStableFunc(list, func(a, b group) (order int) {
		for _, l := range labels {
			x, _ := count(a.labels[l])
			y, _ := count(b.labels[l])
			order = cmp.Or(order, cmp.Compare(x, y))
		}
		return order
	})
}

func sizeText(label string) string {
	if n, ok := count(label); ok {
		return unit.Bytes(float64(n))
	}
	return cmp.Or(label, "?")
}

// rough reports whether a time or a rate is known less well than it is to be.
func rough(m report.Metric) bool {
	if m.Unit != "s" && m.Unit != "1/s" && m.Unit != "bytes/s" {
		return false // counted
	}
	return report.Rough(m.Center, m.Lo, m.Hi, m.Confidence)
}

// figure writes a value, marked where it is rough; "?" where there is none.
func figure(m *report.Metric) string {
	if m != nil && m.Confidence > 0 && report.Vague(m.Lo, m.Hi) {
		return cannotTell
	}
	if m != nil && rough(*m) {
		return "~" + value(m)
	}
	return value(m)
}

// cannotTell stands in place of a figure whose interval says nothing.
const cannotTell = "cannot tell"

// value writes a value whose roughness is marked beside it, or that has none.
func value(m *report.Metric) string {
	if m == nil {
		return "?"
	}
	text := strings.TrimSuffix(unit.Format(m.Center, m.Unit), " /s") // the column's head says per second
	if m.Basis != report.Measured {
		text += " " + string(m.Basis)
	}
	return text
}

func within(m *report.Metric) string {
	switch {
	case m == nil:
		return "?"
	case m.Lo == m.Hi && (m.Confidence > 0 || !rough(*m)):
		return "" // counted
	case m.Confidence <= 0:
		return "none, n = " + strconv.Itoa(m.N)
	}
	return strings.TrimSuffix(span(m.Lo, m.Hi, m.Unit), " /s")
}

// times writes how many times as large a is as b, with the interval that both intervals allow; marked where that holds
// 1, so that nothing can be said.
func times(a, b *report.Metric) string {
	if a == nil || b == nil || b.Center <= 0 {
		return "?"
	}
	text := unit.Number(a.Center/b.Center) + " ×"
	if a.Confidence > 0 && b.Confidence > 0 && b.Lo > 0 {
		lo, hi := a.Lo/b.Hi, a.Hi/b.Lo
		interval := " (" + between(lo, hi) + ")"
		switch text += interval; {
		case report.Vague(lo, hi):
			text = cannotTell + interval
		case lo <= 1 && hi >= 1:
			text = "~" + text
		}
	}
	return text
}
