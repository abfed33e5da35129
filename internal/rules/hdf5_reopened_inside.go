package rules

import (
	"fmt"
	"math"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var reopenAlso = diagnose.Limit{Name: "what a kept handle saves, over opening and closing", Value: 2, Unit: metric.Count,
	Source: "measured: small items, local and cached, h5py 3.7, 3.13 and 3.16: open and close 85 to 112 µs; with the look-up and the first read 156 to 201 µs more than a read through a kept handle, 1.7 to 2.0 times (Debian)"}

// reopenedInside judges by what the hook counted and timed: opens of an item, and what they take of its time. It is quiet where the file is
// opened rarely, or another file each time.
func reopenedInside(p *diagnose.Pass, m made) {
	sites := p.Evidence.Facts.Hook.Opens
	perItem, ok := opensPerItem(p, sites)
	if !ok {
		p.Abstain("how many items were made is unknown, and with it how many opens an item takes", "")
		return
	}
	items := 1.0 // of a batch; opening for each item is often whatever a batch is
	if n := batchOf(p); n != nil && *n > 1 {
		items = float64(*n)
	}
	if perItem*items < p.Limit(reopenPerBatch.Name) || otherFiles(p, sites) > p.Limit(reopenAgain.Name) {
		return
	}
	lo := m.open
	hi := min(share(p.Limit(reopenAlso.Name)*m.open), m.open+m.read+m.other)
	score := starved(p) * (lo + hi) / 2
	top := sites[0]
	where := lineOf(top.File, top.Line)
	often := howOften(perItem, items)
	summary := "The HDF5 file is opened " + often
	if where != "" {
		summary += ", at " + where
	}
	summary += fmt.Sprintf(": opening and closing takes %s of the %s a worker needs for an item", unit.Percent(m.open), unit.Seconds(m.item))
	rec := reopenCure(text(often))
	rec.Why += "; the look-up of the dataset and the first read, which count as reading, get cheaper too"
	if loader, ok := p.Loader(); ok {
		rec.Effect = loader.EffectBetween(lo, max(hi, lo))
	}
	p.Report(report.Finding{
		Severity: diagnose.Grade(score), Score: score, Summary: summary, Location: at(top.File, top.Line),
		Evidence:        seen(p, metric.MadeItem, metric.MadeOpen, metric.MadeRead, metric.MadePerS, metric.HDF5Opens, metric.OpensPerBatch),
		Recommendations: []report.Recommendation{rec},
	})
}

// howOften says how often something is done for an item or, where that is rarer than every other item, for a batch of so many.
func howOften(perItem, items float64) string {
	n, of := perItem, "item"
	if n < 0.5 && items > 1 {
		n, of = perItem*items, "batch"
	}
	if math.Abs(n-1) < 0.05 { // a window cuts through items
		return "once per " + of
	}
	return unit.Number(n) + " times per " + of
}

// opensPerItem is how often files are opened for an item, by the hook's count; false where items or the window are unknown.
func opensPerItem(p *diagnose.Pass, sites []evidence.Site) (float64, bool) {
	rate, ok := p.Maybe(metric.MadePerS)
	window, ok2 := p.Maybe(metric.WindowTime)
	if !ok || !ok2 || rate*window <= 0 {
		return 0, false
	}
	return calls(sites) / (rate * window), true
}

func calls(sites []evidence.Site) float64 {
	n := 0.0
	for _, s := range sites {
		n += s.Calls
	}
	return n
}

// otherFiles is the share of opens that are of a file not opened before: counted by inotify or, without it, by the files the hook named.
func otherFiles(p *diagnose.Pass, sites []evidence.Site) float64 {
	if distinct, ok := p.Maybe(metric.DistinctOpens); ok {
		return distinct
	}
	files := map[string]bool{}
	for _, s := range sites {
		files[s.What] = true
	}
	return float64(len(files)) / max(calls(sites), 1)
}
