package render

import (
	"slices"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// bounds say what keeps more processes from reading more.
var bounds = map[string]string{"cpu": "the usable CPUs are busy", "lock": "the processes wait for a lock", "device": "the storage gives no more"}

// workersSection is how the rate grows with processes.
func workersSection(r *report.Report) section {
	list := groups(r, report.ProbeScaling)
	byCount(list, report.LabelWorkers)
	vary, shared := telling(list, report.LabelOrder, report.LabelCache, report.LabelHandle, report.LabelDecoder)
	s := section{title: "WORKERS", about: shared, columns: []column{{"processes", true}, {"items/s", true}, {"95 % interval", true}, {"efficiency", true}, {"CPU cores", true}}}
	if s.about != "" {
		s.about += "; "
	}
	s.about += unit.Number(r.Host.CPUsUsable) + " usable CPUs"
	most := 0.0
	for _, g := range list {
		if m := g.one(itemRate); m != nil {
			most = max(most, m.Center)
		}
	}
	for _, g := range list {
		m := g.one(itemRate)
		e := entry{cells: []string{known1(g.labels[report.LabelWorkers]), figure(m), within(m), figure(g.one(efficiency)), cores(g.one(cpuCores))}}
		if words := g.words(vary...); words != "" {
			e.cells[0] += " " + words
		}
		if m != nil && most > 0 {
			e.share = m.Center / most
		}
		s.rows = append(s.rows, e)
	}
	if len(s.rows) > 1 {
		s.notes = append(s.notes, bend(list))
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
			return "It does not bend up to " + last + " processes."
		}
		return "What bounds it at " + last + " processes was not told."
	}
	why, ok := bounds[list[i].labels[report.LabelBound]]
	if !ok {
		why = list[i].labels[report.LabelBound]
	}
	return "It bends at " + known1(list[i].labels[report.LabelWorkers]) + " processes: " + why + "."
}
