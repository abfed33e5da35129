package document

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// limits say what keeps more processes from reading more.
var limits = map[string]string{"cpu": "the usable CPUs are busy", "lock": "the processes wait for a lock",
	"device": "the storage takes longer for each read"}

// seriesLabels tell series of process counts apart.
var seriesLabels = []string{report.LabelOrder, report.LabelCache, report.LabelHandle, report.LabelDecoder}

// scalings are the series of process counts that were measured, each read in one way; the usual one, warm, first.
func scalings(r *report.Report) [][]group {
	list := groups(r, report.ProbeScaling)
	slices.SortStableFunc(list, byAccess)
	var series [][]group
	for _, g := range list {
		same := func(s []group) bool {
			return !slices.ContainsFunc(seriesLabels, func(l string) bool { return s[0].labels[l] != g.labels[l] })
		}
		if i := slices.IndexFunc(series, same); i >= 0 {
			series[i] = append(series[i], g)
		} else {
			series = append(series, []group{g})
		}
	}
	for _, s := range series {
		byCount(s, report.LabelWorkers)
	}
	return series
}

// workersSection is how the rate grows with processes.
func workersSection(r *report.Report) Section {
	series := scalings(r)
	list := slices.Concat(series...)
	vary, shared := varying(list, seriesLabels...)
	t := &Table{Columns: []Column{{"", false}, {"processes", true}, {"items/s", true}, {"95 % interval", true},
		{"efficiency", true}, {"CPU cores", true}}}
	most := 0.0
	for _, g := range list {
		most = max(most, g.values[metric.ItemRate.Name].Center)
	}
	var bends, apart []string
	for _, one := range series {
		name := one[0].words(vary...)
		if len(one) > 1 {
			bends = append(bends, joined(": ", name, bend(one)))
		}
		if text := measuredParts(r, one[0]); text != "" {
			apart = append(apart, joined(": ", name, text))
		}
		for _, g := range one {
			m, cores := g.one(metric.ItemRate.Name), "?" // without a unit: the column says it
			if used := g.one(metric.CPUCores.Name); used != nil {
				cores = unit.Number(used.Center)
			}
			row := Row{Cells: cells(name, orUnknown(g.labels[report.LabelWorkers]), figure(m), within(m),
				efficiency(g.one(metric.Efficiency.Name)), cores)}
			name = "" // it stands in the first row
			if m != nil && most > 0 {
				row.Share = m.Center / most
			}
			t.Rows = append(t.Rows, row)
		}
	}
	if len(series) < 2 {
		t.drop(0, 1)
	}
	s := section("Workers", joined("; ", shared, unit.Number(r.Host.CPUsUsable)+" usable CPUs"), Main, t)
	cold := slices.ContainsFunc(list, func(g group) bool { return g.labels[report.LabelCache] == "cold" })
	if cold && !format.Kind(r.Benchmark.Kind).Items().WholeFile {
		apart = append(apart, "cold items are read each by itself; in an epoch those that lie beside others come along")
	}
	s.add(notes(append(bends, apart...)...)...)
	s.add(rateChart(series))
	return s
}

// measuredParts says that one process read at another rate than RESULT and the table of one item make of their parts,
// where the intervals of the two leave that no doubt; "" where they agree.
func measuredParts(r *report.Report, one group) string {
	item, ok := r.Metrics[map[string]string{"warm": metric.BenchItem.Name,
		"cold": metric.BenchColdItem.Name}[one.labels[report.LabelCache]]]
	m := one.one(metric.ItemRate.Name)
	if n, _ := count(one.labels[report.LabelWorkers]); n != 1 || m == nil || !ok || item.Lo <= 0 {
		return ""
	}
	if m.Lo <= (1+report.Precision)/item.Lo && m.Hi >= (1-report.Precision)/item.Hi {
		return ""
	}
	why := "measured apart and at another moment"
	if m.Confidence == 0 || item.Confidence == 0 {
		why = "in too few rounds to tell by how much; a larger --budget narrows it"
	}
	return "one process gives " + value(m) + " items/s here, " + unit.Number(1/item.Center) +
		" by the sum of an item's parts (opening, reading, decoding), " + why
}

// efficiency writes that of a row: none where its interval says nothing, or where it has no interval and is more than
// processes can give. Pictures of very different size make such figures, where each process met others of them.
func efficiency(m *report.Metric) string {
	if m != nil && (report.Vague(m.Lo, m.Hi) || m.Confidence == 0 && m.Center > 1) {
		return cannotTell
	}
	return value(m)
}

// rateChart draws the first series of the rate over the number of processes; nil where it has not two.
func rateChart(series [][]group) *Chart {
	if len(series) == 0 {
		return nil
	}
	cache := map[string]string{"warm": "warm", "cold": "cold"}[series[0][0].labels[report.LabelCache]]
	c := &Chart{Title: joined(", ", "Items per second by worker processes", cache), Unit: "items/s", Digits: 1}
	var processes []float64
	for _, g := range series[0] {
		m := g.one(metric.ItemRate.Name)
		if n, ok := count(g.labels[report.LabelWorkers]); ok && m != nil {
			c.Names, c.Bars = append(c.Names, strconv.FormatInt(n, 10)), append(c.Bars, m.Center)
			c.Lo, c.Hi = append(c.Lo, m.Lo), append(c.Hi, m.Hi)
			processes = append(processes, float64(n))
			if c.Bend == 0 && isBend(g) {
				c.Bend = len(c.Bars)
			}
		}
	}
	if len(c.Bars) < 2 || slices.Max(c.Bars) <= 0 {
		return nil
	}
	c.About = "dotted: if each process gave as much as the first"
	if c.Bend > 0 {
		c.About += "; dashed: where more of them stop to pay"
	}
	for _, n := range processes {
		c.Ideal = append(c.Ideal, c.Bars[0]*n/processes[0])
	}
	c.Top = math.Round(max(1, axisRoom*slices.Max(c.Bars)))
	return c
}

// axisRoom is how much longer an axis is than the longest bar along it.
const axisRoom = 1.1

// isBend reports whether more processes than a group's stop to pay.
func isBend(g group) bool { return !slices.Contains([]string{"", "none"}, g.labels[report.LabelBound]) }

// bend says where more processes stop to pay, and why.
func bend(list []group) string {
	i := slices.IndexFunc(list, isBend)
	last := orUnknown(list[len(list)-1].labels[report.LabelWorkers])
	switch {
	case i < 0 && slices.Contains(values(list, report.LabelBound), "none"):
		return "no limit found up to " + last + " processes"
	case i < 0:
		return "what bounds it at " + last + " processes is unknown"
	}
	why := list[i].labels[report.LabelBound]
	return "more processes add less from " + orUnknown(list[i].labels[report.LabelWorkers]) + " on: " +
		cmp.Or(limits[why], why)
}
