package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var hdf5FilterCPU = diagnose.Rule{
	ID:       "hdf5/filter-cpu",
	Title:    "Decompressing HDF5 data takes the workers' time",
	Resource: report.HDF5,
	Needs:    []metric.Desc{metric.NumWorkers, metric.HDF5Filters, metric.HDF5Amplify, metric.ReadBytes},
	Limits:   limits(wasteLimit, gzipSpeed, fastSpeed, storageLimit, filterPart, firstRead, sampled),
	Applies:  onHDF5,
	Explains: []string{"cpu/decode-bound", "cpu/saturated"},
	Eval: func(p *diagnose.Pass) {
		split, ok := loadingOf(p)
		if !ok || p.Get(metric.HDF5Filters) < 1 || p.Get(metric.HDF5Amplify) >= p.Limit(wasteLimit) {
			return
		}
		lo, cost := undone(p, split)
		if cost < p.Limit(storageLimit) {
			return
		}
		cause{part: cost, lo: lo, hi: cost,
			summary: fmt.Sprintf("Decompressing takes %s of the loading time (%s read)", between(lo, cost),
				unit.Format(p.Get(metric.ReadBytes), string(metric.BytesPerS))) + readSaid(p),
			change: report.Recommendation{Setting: "HDF5 filter", From: nonEmpty(layoutOf(p).Filters), To: "none",
				Why:    "nothing is left to decode",
				Caveat: "the file grows; where storage is slow that costs more than it saves; " + lzfCaveat},
			seen: seen(p, metric.MadeItem, metric.MadeRead, metric.HDF5Filters, metric.ReadBytes, metric.WorkerRunning,
				metric.HDF5Amplify),
		}.report(p)
	},
	Measured: &diagnose.Measured{
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchFilter, metric.HDF5Filters, metric.HDF5Amplify},
		Limits:  limits(wasteLimit, plainOverhead, plainSpeed, plainLeast, diagnose.MemoryShare),
		Applies: filtered,
		Eval:    filterMeasured,
	},
}

func filterMeasured(p *diagnose.Pass) {
	if p.Get(metric.HDF5Filters) < 1 || p.Get(metric.HDF5Amplify) >= p.Limit(wasteLimit) {
		return
	}
	before, state := settled(p)
	cost, _ := p.Evidence.Get(metric.BenchFilter)
	grown := compression(p)
	after, mind, known := unpacked(p, less(before, cost.Summary, plainRead(p)), grown,
		p.OrZero(metric.BenchItemBytes)/grown)
	times := timing{before, after, report.Modelled}
	caveat := "the file grows"
	if grown > 1 {
		caveat += " " + unit.Number(grown) + " times"
	}
	caveat += "; " + cmp.Or(mind, "where storage is slow that costs more than it saves")
	command := h5repack(p, "-f", "NONE")
	for _, name := range unfiltered { // the figure of a layout stands with that layout's command
		t, c, ok := tried(p, name)
		if !ok {
			continue
		}
		times, command, known = t, cmp.Or(c.Command, command), true
		if size := sizeCaveat(p, c); size != "" {
			caveat = size
			if !outgrown(p, c.Stored.Center) {
				caveat += "; where storage is slow that costs more than it saves"
			}
		}
		break
	}
	caveat += "; " + lzfCaveat
	score := times.saved()
	if score < diagnose.Moderate.Value {
		return
	}
	rec := report.Recommendation{Setting: "HDF5 filter", From: nonEmpty(layoutOf(p).Filters), To: "none",
		Why: "nothing is left to undo for an item", Caveat: caveat, Effect: times.effect()}
	severity := cautious(score)
	if !known {
		rec.Effect, severity = nil, report.Info
	}
	if rec.From != nil {
		rec.Command = command
		rec.Caveat += unrepacked(p, command)
	}
	p.Report(report.Finding{
		Severity: severity, Score: score,
		Summary: fmt.Sprintf("Undoing the filters takes %s of an item's %s (%s), and nothing of it is in vain",
			unit.Seconds(cost.Center), unit.Seconds(before.Center), state),
		Evidence: seen(p, metric.BenchItem, metric.BenchColdItem, metric.BenchFilter, metric.BenchFilterRatio,
			metric.HDF5Filters, metric.HDF5Amplify, metric.HDF5Stored, metric.BenchTryGain),
		Recommendations: []report.Recommendation{rec},
		Unhelpful:       slices.Concat(largerCache(p), fasterStorage(p)),
	})
}

// lzfCaveat names the filter that lies between gzip and none, and who reads it.
const lzfCaveat = "lzf lies between gzip and no filter, but only h5py reads it without a plugin"

// unfiltered are the candidates of --try that have no filters, the one that changes nothing else first.
var unfiltered = []string{"unfiltered", "contiguous", "chunk-item-unfiltered"}
