package document

import (
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// modes say how requests went past the page cache, or did not.
var modes = map[string]string{"direct": "direct, past the page cache",
	"buffered": "through the page cache, emptied and verified first", "page-cache": "out of the page cache"}

// deviceSection is what the storage gives at best.
func deviceSection(r *report.Report) Section {
	list := groups(r, report.ProbeDevice)
	byCount(list, report.LabelBlock, report.LabelDepth)
	vary, _ := varying(list, report.LabelOrder, report.LabelMode)
	t := &Table{Columns: []Column{{"request", true}, {"in flight", true}, {"reads/s", true}, {"95 % interval", true},
		{"rate", true}, {"latency", true}, {"order", false}}}
	about := ""
	if len(list) > 0 && !differ(list, report.LabelMode) {
		about = modes[list[0].labels[report.LabelMode]]
	}
	for _, g := range list {
		m := g.one(metric.ReadRate.Name)
		t.add(sizeText(g.labels[report.LabelBlock]), orUnknown(g.labels[report.LabelDepth]), figure(m), within(m),
			deviceRate(g), figure(g.one(metric.ReadTime.Name)), g.words(vary...))
	}
	if len(vary) == 0 {
		t.drop(6, 7)
	}
	s := section("Storage at best", about, Supporting, t)
	if slices.ContainsFunc(list, func(g group) bool { return g.labels[report.LabelMode] == "page-cache" }) {
		s.add(Note("These are figures of a page cache, not of the device."))
	}
	return s
}

// deviceRate is the bytes per second as measured, else what the requests come to.
func deviceRate(g group) string {
	if m := g.one(metric.ByteRate.Name); m != nil {
		return value(m)
	}
	block, ok := count(g.labels[report.LabelBlock])
	if m := g.one(metric.ReadRate.Name); ok && m != nil {
		return unit.Format(m.Center*float64(block), "bytes/s")
	}
	return "?"
}
