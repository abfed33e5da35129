package render

import (
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// bounds say what keeps more processes from reading more.
var bounds = map[string]string{"cpu": "the usable CPUs are busy", "lock": "the processes wait for a lock", "device": "the storage gives no more"}

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
func workersSection(r *report.Report) section {
	series := scalings(r)
	list := slices.Concat(series...)
	vary, shared := telling(list, seriesLabels...)
	s := section{title: "WORKERS", about: shared, columns: []column{{"processes", true}, {"items/s", true}, {"95 % interval", true}, {"efficiency", true}, {"CPU cores", true}}}
	if s.about != "" {
		s.about += "; "
	}
	s.about += unit.Number(r.Host.CPUsUsable) + " usable CPUs"
	if len(series) > 1 {
		s.columns = append([]column{{"", false}}, s.columns...)
	}
	most := 0.0
	for _, g := range list {
		if m := g.one(itemRate); m != nil {
			most = max(most, m.Center)
		}
	}
	for _, one := range series {
		for i, g := range one {
			m := g.one(itemRate)
			e := entry{cells: []string{known1(g.labels[report.LabelWorkers]), figure(m), within(m), value(g.one(efficiency)), cores(g.one(cpuCores))}}
			if len(series) > 1 && i == 0 {
				e.cells = append([]string{g.words(vary...)}, e.cells...)
			} else if len(series) > 1 {
				e.cells = append([]string{""}, e.cells...)
			}
			if m != nil && most > 0 {
				e.share = m.Center / most
			}
			s.rows = append(s.rows, e)
		}
		if len(one) > 1 {
			s.notes = append(s.notes, strings.TrimPrefix(one[0].words(vary...)+": ", ": ")+bend(one))
		}
	}
	return s
}

// known1 is a label, "?" where it is missing.
func known1(label string) string {
	if label == "" {
		return "?"
	}
	return label
}

// cores writes a count of cores without its unit: the column says it.
func cores(m *report.Metric) string {
	if m == nil {
		return "?"
	}
	return unit.Number(m.Center)
}

// bend says where more processes stop to pay, and why.
func bend(list []group) string {
	i := slices.IndexFunc(list, func(g group) bool { b := g.labels[report.LabelBound]; return b != "" && b != "none" })
	last := known1(list[len(list)-1].labels[report.LabelWorkers])
	if i < 0 {
		if slices.ContainsFunc(list, func(g group) bool { return g.labels[report.LabelBound] == "none" }) {
			return "no bend up to " + last + " processes"
		}
		return "what bounds it at " + last + " processes was not told"
	}
	why, ok := bounds[list[i].labels[report.LabelBound]]
	if !ok {
		why = list[i].labels[report.LabelBound]
	}
	return "it bends at " + known1(list[i].labels[report.LabelWorkers]) + " processes: " + why
}
