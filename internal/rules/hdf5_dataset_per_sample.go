package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var hdf5DatasetPerSample = diagnose.Rule{
	ID:       "hdf5/dataset-per-sample",
	Title:    "For each sample an HDF5 dataset is opened",
	Resource: report.HDF5,
	Measured: &diagnose.Measured{
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchItemBytes},
		Limits:  limits(plainOverhead, plainSpeed, plainLeast, openMost),
		Applies: ofOwnDatasets,
		Eval:    ofOwnDatasetsMeasured,
	},
}

// openMost bounds what one dataset for all saves of an item, however slow a plain read may be.
var openMost = threshold("finding and opening a dataset in an open file, at the most", 60e-6, metric.Seconds,
	"measured: with a plain read of 3 to 12 KiB, 24 to 34 µs of 900 to 1,500 in a file and 41 µs of 20,000 (HDF5 "+
		"1.10.8, Debian); half as much again for slower machines")

// ofOwnDatasets reports whether items are datasets of their own, or of one of several.
func ofOwnDatasets(p *diagnose.Pass) bool {
	return p.Facts.DatasetKind == "hdf5" && layoutOf(p).Members
}

func ofOwnDatasetsMeasured(p *diagnose.Pass) {
	before, state := settled(p)
	after := plainRead(p)
	filters, timed := p.Evidence.Get(metric.BenchFilter)
	switch {
	case timed:
		after = spread(after.Lo+filters.Lo, after.Center+filters.Center, after.Hi+filters.Hi)
	case p.OrZero(metric.HDF5Filters) >= 1:
		missing(p, metric.BenchFilter)
		return
	}
	if warm, ok := p.Maybe(metric.BenchItem); ok && state == "cold" {
		after = more(after, max(before.Center-warm, 0)) // the waits for storage stay
	}
	least := before.Center - openMost.Value
	after = spread(max(after.Lo, least), max(after.Center, least), max(after.Hi, least))
	item := timing{before, after, report.Modelled}
	score := savedShare(before.Center, after.Hi)
	if score < diagnose.Moderate.Value {
		return
	}
	p.Report(report.Finding{
		Score: score,
		Summary: fmt.Sprintf("%s (%s): finding and opening it takes %s of an item's %s (%s)", ofWhat(p),
			layoutOf(p).Name, between(score, savedShare(before.Center, after.Lo)), unit.Seconds(before.Center), state),
		Evidence:        seen(p, metric.BenchItem, metric.BenchColdItem, metric.BenchItemBytes, metric.BenchFilter),
		Recommendations: []report.Recommendation{openedOnce(p, item.effect())},
		Unhelpful:       fasterStorage(p),
	})
}

func ofWhat(p *diagnose.Pass) string {
	if layoutOf(p).Rows {
		return "Each item is a row of one of many datasets"
	}
	return "Each item is a dataset of its own"
}

// openedOnce recommends what makes the opening for each item go: where a dataset holds many, it can be kept open.
func openedOnce(p *diagnose.Pass, effect *report.Effect) report.Recommendation {
	if layoutOf(p).Rows {
		return report.Recommendation{Setting: "HDF5 datasets", From: new("opened for each item"),
			To:     "opened once in each worker, and kept in a dict",
			Why:    "an item is then read from a dataset that is open already",
			Caveat: "each dataset that is kept open has a chunk cache of its own", Effect: effect}
	}
	return report.Recommendation{Setting: "HDF5 layout", From: new("a dataset for each sample"),
		To:     "one dataset, a row for each sample",
		Why:    "it is opened once in each worker, and an item is found by its number",
		Caveat: "samples of other sizes need padding, or one long dataset and their offsets; " + keepOld,
		Effect: effect}
}
