package render

import (
	"slices"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// modes say how requests went past the page cache, or did not.
var modes = map[string]string{"direct": "direct, past the page cache", "buffered": "through the page cache, emptied and verified first", "page-cache": "out of the page cache"}

// deviceSection is what the storage gives at best.
func deviceSection(r *report.Report) section {
	list := groups(r, report.ProbeDevice)
	byCount(list, report.LabelBlock, report.LabelDepth)
	vary, _ := telling(list, report.LabelOrder, report.LabelMode)
	s := section{title: "STORAGE AT BEST", columns: []column{{"request", true}, {"in flight", true}, {"reads/s", true}, {"95 % interval", true}, {"rate", true}, {"latency", true}}}
	if len(list) > 0 && !differ(list, report.LabelMode) {
		s.about = modes[list[0].labels[report.LabelMode]]
	}
	if len(vary) > 0 {
		s.columns = append(s.columns, column{"order", false})
	}
	for _, g := range list {
		m := g.one(readRate)
		e := entry{cells: []string{sizeText(g.labels[report.LabelBlock]), known1(g.labels[report.LabelDepth]), figure(m), within(m), deviceRate(g), figure(g.one(readTime))}}
		if len(vary) > 0 {
			e.cells = append(e.cells, g.words(vary...))
		}
		s.rows = append(s.rows, e)
	}
	if slices.ContainsFunc(list, func(g group) bool { return g.labels[report.LabelMode] == "page-cache" }) {
		s.notes = []string{"These are figures of a page cache, not of the device."}
	}
	return s
}

// deviceRate is the bytes per second as measured, else what the requests come to.
func deviceRate(g group) string {
	if m := g.one(byteRate); m != nil {
		return value(m)
	}
	block, ok := count(g.labels[report.LabelBlock])
	if m := g.one(readRate); ok && m != nil {
		return unit.Format(m.Center*float64(block), "bytes/s")
	}
	return "?"
}
