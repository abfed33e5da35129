package rules

import (
	"fmt"
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
)

var reopenAlso = diagnose.Limit{Name: "what a kept handle saves, over opening and closing", Value: 2,
	Unit: metric.Count, Source: "measured: small items, local and cached, h5py 3.7, 3.13 and 3.16: open and close 85 " +
		"to 114 µs; a kept handle saves 1.3 to 1.5 times that, a kept handle and dataset 1.7 to 2.0 times (Debian)"}

// reopenedInside judges by what the hook counted and timed: opens of an item, and what they take of its time. It is
// quiet where the file is opened rarely, or another file each time.
func reopenedInside(p *diagnose.Pass, m made) {
	perBatch, ok := p.Maybe(metric.OpensPerBatch)
	fetch, ok2 := p.Maybe(metric.FetchTime)
	distinct, ok3 := p.Maybe(metric.DistinctOpens)
	switch {
	case !ok || !ok2 || !ok3:
		p.Abstain("how many different files are opened is unknown: they are too many to be reported one by one", "")
		return
	case perBatch < p.Limit(reopenPerBatch.Name) || distinct > p.Limit(otherFiles.Name):
		return
	}
	lo := m.open
	hi := min(share(p.Limit(reopenAlso.Name)*m.open), m.open+m.read+m.other)
	top := p.Evidence.Facts.Hook.Opens[0]
	where := lineOf(top.File, top.Line)
	often := howOften(perBatch, max(fetch/m.item, 1))
	summary := "The HDF5 file is opened " + often
	if where != "" {
		summary += ", at " + where
	}
	summary += fmt.Sprintf(": opening and closing takes %s, %s of the %s a worker needs for an item",
		unit.Seconds(m.open*m.item), unit.Percent(m.open), unit.Seconds(m.item))
	rec := reopenCure(new(often))
	if files := openedFiles(p, distinct); files >= 2 {
		rec = reopenEach(new(often), files)
	}
	name := "NAME"
	if f := p.Evidence.Facts.HDF5; f != nil && f.Name != "" {
		name = f.Name
	}
	rec.Why += fmt.Sprintf("; keep the dataset (self.file[%q]) as well, which saves looking it up for each item", name)
	f := cause{part: (lo + hi) / 2, lo: lo, hi: max(hi, lo), summary: summary, change: rec,
		seen: seen(p, metric.MadeItem, metric.MadeOpen, metric.MadeRead, metric.MadePerS, metric.HDF5Opens,
			metric.OpensPerBatch)}.finding(p)
	f.Location, f.Unhelpful = at(top.File, top.Line), slices.Concat(tooSlowly(p), notStorage(p), notCompression(p))
	p.Report(f)
}

// howOften says how often something is done for an item or, where that is rarer than every other item, for a batch of
// so many.
func howOften(perBatch, items float64) string {
	n, of := perBatch/items, "item"
	if n < 0.5 {
		n, of = perBatch, "batch"
	}
	if math.Abs(n-1) < 0.05 { // a window cuts through items
		return "once per " + of
	}
	return unit.Number(n) + " times per " + of
}

// openedFiles is how many different files the opens that were reported are of.
func openedFiles(p *diagnose.Pass, distinct float64) float64 {
	calls := 0.0
	for _, o := range p.Evidence.Facts.Hook.Opens {
		calls += o.Calls
	}
	return math.Round(distinct * calls)
}
