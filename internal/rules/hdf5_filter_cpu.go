package rules

import (
	"fmt"

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
workers' CPU time.

## How to mend it
Rewrite with a lighter filter or none, if storage allows the size: h5repack -f images:NONE in.h5 out.h5, or create with compression="lzf".

## When it is wrong
Where storage is slow, compression saves more time than it costs. The speed depends on the data; try it on a part of the file.
`,
	Needs:    []metric.Desc{metric.NumWorkers, metric.HDF5Filters, metric.HDF5Amplify, metric.ReadBytes},
	Limits:   limits(wasteLimit, gzipSpeed, fastSpeed, storageLimit),
	Applies:  onHDF5,
	Explains: []string{"cpu/decode-bound", "cpu/saturated"},
	Eval: func(p *diagnose.Pass) error {
		split, ok := loadingOf(p)
		if !ok || p.Get(metric.HDF5Filters) < 1 || p.Get(metric.HDF5Amplify) >= p.Limit(wasteLimit.Name) {
			return nil
		}
		cost := decoding(p) * split.running
		if cost < p.Limit(storageLimit.Name) {
			return nil
		}
		score := starved(p) * cost
		rec := report.Recommendation{Setting: "HDF5 filter", To: "lzf or none", Why: "about 440 MB/s per core instead of 125, or no decoding at all",
			Caveat: "the file grows; where storage is slow that costs more than it saves"}
		if f := p.Evidence.Facts.HDF5; f != nil && f.Filters != "" {
			rec.From = text(f.Filters)
		}
		if loader, ok := p.Loader(); ok {
			rec.Effect = loader.EffectBetween(cost/2, cost)
		}
		p.Report(report.Finding{
			Severity: diagnose.Grade(score), Score: score,
			Summary: fmt.Sprintf("Decompressing takes about %s of the loading time (%s read)", unit.Percent(cost),
				unit.Format(p.Get(metric.ReadBytes), string(metric.BytesPerS))),
			Evidence:        seen(p, metric.HDF5Filters, metric.ReadBytes, metric.WorkerRunning, metric.HDF5Amplify),
			Recommendations: []report.Recommendation{rec},
		})
		return nil
	},
}
