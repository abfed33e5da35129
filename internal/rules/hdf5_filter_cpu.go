package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var hdf5FilterCPU = diagnose.Rule{
	ID:       "hdf5/filter-cpu",
	Title:    "Decompressing HDF5 data takes the workers' time",
	Resource: report.HDF5,
	Doc: `
## What it means
Nothing is decoded in vain, but undoing the compression itself is what the workers do. gzip gives about 125 MB/s of decoded data per core,
lzf about 440 (measured on Debian).

## How it is detected
The dataset has filters, items match their chunks, and the bytes read, at the speed measured for the filter, account for a good part of the
workers' CPU time. A launched job tells what reading an item takes, and the part beyond a plain read is measured.

## How to mend it
Rewrite without a filter, if storage allows the size: h5repack -f images:NONE in.h5 out.h5. A lower level of gzip is quicker to write, not to read
(zlib, floats: 211 MB/s at level 1, 277 at level 9; measured on Debian). h5py can also write lzf (compression="lzf"), which decodes about 3.5 times as fast as gzip, but only h5py and programs that bring its filter read that.

## When it is wrong
Where storage is slow, compression saves more time than it costs. The speed depends on the data; try it on a part of the file.
`,
	Needs:    []metric.Desc{metric.NumWorkers, metric.HDF5Filters, metric.HDF5Amplify, metric.ReadBytes},
	Limits:   limits(wasteLimit, gzipSpeed, fastSpeed, storageLimit, filterPart),
	Applies:  onHDF5,
	Explains: []string{"cpu/decode-bound", "cpu/saturated"},
	Eval: func(p *diagnose.Pass) error {
		split, ok := loadingOf(p)
		if !ok || p.Get(metric.HDF5Filters) < 1 || p.Get(metric.HDF5Amplify) >= p.Limit(wasteLimit.Name) {
			return nil
		}
		lo, cost := undone(p, split)
		if cost < p.Limit(storageLimit.Name) {
			return nil
		}
		score := starved(p) * cost
		rec := report.Recommendation{Setting: "HDF5 filter", To: "none", Why: "nothing is left to decode",
			Caveat: "the file grows; where storage is slow that costs more than it saves; " + lzfCaveat}
		if f := p.Evidence.Facts.HDF5; f != nil && f.Filters != "" {
			rec.From = text(f.Filters)
		}
		if loader, ok := p.Loader(); ok {
			rec.Effect = loader.Saving(lo, cost)
		}
		p.Report(report.Finding{
			Severity: diagnose.Grade(score), Score: score,
			Summary: fmt.Sprintf("Decompressing takes about %s of the loading time (%s read)", unit.Percent(cost),
				unit.Format(p.Get(metric.ReadBytes), string(metric.BytesPerS))) + readSaid(p),
			Evidence:        seen(p, metric.MadeItem, metric.MadeRead, metric.HDF5Filters, metric.ReadBytes, metric.WorkerRunning, metric.HDF5Amplify),
			Recommendations: []report.Recommendation{rec},
		})
		return nil
	},
	Measured: &diagnose.Measured{
		How: `
The CPU time in filters is measured: reading items less reading the same chunks raw. It is a warning at the most, whatever its share: compression
trades CPU time for space and for bytes from storage, which may be what is wanted. Where the dataset fits in memory as it is and would not without
filters, an item is reckoned to come from storage then, at the speed that was measured. --try measures the same data without filters.
`,
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchFilter, metric.HDF5Filters, metric.HDF5Amplify},
		Limits:  limits(wasteLimit, plainOverhead, plainSpeed, diagnose.MemoryShare),
		Applies: filtered,
		Eval:    filterMeasured,
	},
}

func filterMeasured(p *diagnose.Pass) error {
	if p.Get(metric.HDF5Filters) < 1 || p.Get(metric.HDF5Amplify) >= p.Limit(wasteLimit.Name) {
		return nil
	}
	before, state := settled(p)
	item := before.Center
	cost, _ := p.Evidence.Get(metric.BenchFilter)
	bytes, _ := p.Maybe(metric.BenchItemBytes)
	grown := compression(p)
	after, mind, known := unpacked(p, less(before, cost.Summary, plainRead(p)), grown, bytes/grown)
	basis := report.Modelled
	caveat := "the file grows"
	if grown > 1 {
		caveat += " " + unit.Number(grown) + " times"
	}
	caveat += "; " + cmp.Or(mind, "where storage is slow that costs more than it saves")
	command := ""
	if f := p.Evidence.Facts.HDF5; f != nil && f.Name != "" {
		command = "h5repack -f " + diagnose.ShellWord(strings.TrimPrefix(f.Name, "/")+":NONE") + " " + inAndOut(p)
	}
	for _, name := range unfiltered { // the figure of a layout stands with that layout's command
		was, is, c, ok := tried(p, name)
		if !ok {
			continue
		}
		before, after, basis, command, known = was, is, report.Measured, cmp.Or(c.Command, command), true
		if size := sizeCaveat(p, c); size != "" {
			caveat = size
			if !outgrown(p, c.Stored.Center) {
				caveat += "; where storage is slow that costs more than it saves"
			}
		}
		break
	}
	caveat += "; " + lzfCaveat
	score := savedShare(before.Center, after.Center)
	if score < diagnose.Moderate.Value {
		return nil
	}
	rec := report.Recommendation{Setting: "HDF5 filter", To: "none", Why: "nothing is left to undo for an item", Caveat: caveat,
		Effect: quicker(before, after, basis, "")}
	severity := milder(diagnose.Grade(score), report.Warning)
	if !known {
		rec.Effect, severity = nil, report.Info
	}
	if f := p.Evidence.Facts.HDF5; f != nil && f.Filters != "" {
		rec.From = text(f.Filters)
		if command != "" {
			rec.Why += ": " + command
		}
	}
	p.Report(report.Finding{
		Severity: severity, Score: score,
		Summary: fmt.Sprintf("Undoing the filters takes %s of an item's %s (%s), and nothing of it is in vain",
			unit.Seconds(cost.Center), unit.Seconds(item), state),
		Evidence: seen(p, metric.BenchItem, metric.BenchColdItem, metric.BenchFilter, metric.BenchFilterRatio, metric.HDF5Filters, metric.HDF5Amplify,
			metric.HDF5Stored, metric.BenchTryGain),
		Recommendations: []report.Recommendation{rec},
		Unhelpful:       slices.Concat(largerCache(p), fasterStorage(p)),
	})
	return nil
}

// lzfCaveat names the filter that lies between gzip and none, and who reads it.
const lzfCaveat = "lzf lies between gzip and no filter, but only h5py reads it without a plugin"

// unfiltered are the candidates of --try that have no filters, the one that changes nothing else first.
var unfiltered = []string{"unfiltered", "contiguous", "chunk-item-unfiltered"}

// milder is the lesser of two severities.
func milder(a, b report.Severity) report.Severity {
	if a == report.Info || b == report.Info {
		return report.Info
	}
	if a == report.Warning || b == report.Warning {
		return report.Warning
	}
	return report.Error
}
