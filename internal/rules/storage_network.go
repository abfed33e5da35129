package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var storageNetwork = diagnose.Rule{
	ID:       "storage/network",
	Title:    "Data is read over the network or through FUSE",
	Resource: report.OnStorage,
	Doc: `
## What it means
The dataset lies on a network or FUSE file system. Each read and each open that misses the cache is a round trip; small reads and many files
suffer most.

## How it is detected
The mount's file system type, and loading that waits for storage a good part of its time.

## How to mend it
Copy the dataset to a local disk at the start of the job, if it fits; else read it in larger pieces (shards, tar files) with more requests at once.

## When it is wrong
A fast parallel file system can beat a local disk at large reads. Measure both with pipetune bench-io.
`,
	Needs:    []metric.Desc{metric.NumWorkers, metric.StorageNet},
	Limits:   limits(storageLimit),
	Applies:  onDisk,
	Explains: []string{"storage/latency-bound", "storage/cold-cache", "loader/workers-too-few", "storage/fits-in-memory"},
	Eval: func(p *diagnose.Pass) error {
		split, ok := loadingOf(p)
		if !ok || p.Get(metric.StorageNet) < 1 {
			return nil
		}
		waits := share(waitsForStorage(p) + split.fileLock)
		if waits < p.Limit(storageLimit.Name) {
			return nil
		}
		score := starved(p) * waits
		where := "a network or FUSE file system"
		if fs := p.Evidence.Facts.FSType; fs != "" {
			where = fs
		}
		rec := report.Recommendation{Setting: "where the dataset lies", From: place(p), To: "a local disk",
			Why: "reads and opens then cost microseconds instead of round trips; copy it once at the start of the job"}
		if size, ok := p.Maybe(metric.DatasetBytes); ok {
			rec.Why += fmt.Sprintf(" (%s)", unit.Bytes(size))
		}
		if loader, ok := p.Loader(); ok {
			rec.Effect = loader.SavingUnthrottled(waits/2, waits)
		}
		p.Report(report.Finding{
			Severity: diagnose.Grade(score), Score: score,
			Summary:         fmt.Sprintf("The dataset lies on %s, and loading waits for it %s of its time", where, unit.Percent(waits)),
			Evidence:        seen(p, metric.StorageNet, metric.WorkerStorage, metric.WorkerOpenWait, metric.MainStorage, metric.FileOpens, metric.BytesPerRead, metric.DatasetBytes),
			Recommendations: append([]report.Recommendation{rec}, moreReaders(p)...),
		})
		return nil
	},
	Measured: &diagnose.Measured{
		How: `
The mount's file system type, and cold items that wait for it. --compare-path measures the same sample on another storage.
`,
		Needs:   []metric.Desc{metric.StorageNet, metric.BenchItem, metric.BenchColdItem, metric.BenchStorage, metric.BenchMemory},
		Limits:  limits(storageLimit, diagnose.MemoryShare),
		Applies: onDisk,
		Eval:    networkMeasured,
	},
}

func networkMeasured(p *diagnose.Pass) error {
	waits := p.Get(metric.BenchStorage)
	if p.Get(metric.StorageNet) < 1 || waits < p.Limit(storageLimit.Name) {
		return nil
	}
	where := "a network or FUSE file system"
	if fs := p.Evidence.Facts.FSType; fs != "" {
		where = fs
	}
	cold, _ := p.Evidence.Get(metric.BenchColdItem)
	rec := report.Recommendation{Setting: "where the dataset lies", From: place(p), To: "a local disk", Why: "reads and opens are no round trips there; copy it once at the start of the job"}
	score := waits
	if gain, ok := p.Evidence.Get(metric.BenchTierGain); ok {
		score = share(gain.Center)
		rec.To, rec.Why = "the storage it was compared with", "the same sample was measured there"
		rec.Effect = quicker(cold.Summary, spread(cold.Lo*(1-gain.Hi), cold.Center*(1-gain.Center), cold.Hi*(1-gain.Lo)), report.Measured, "")
		if rec.Effect == nil {
			return nil // the other storage is no better
		}
	}
	p.Report(firstPass(p, report.Finding{
		Severity: diagnose.Grade(score), Score: score,
		Summary: fmt.Sprintf("The dataset lies on %s, which has %s of a cold item's %s", where, unit.Percent(waits), unit.Seconds(cold.Center)),
		Evidence: seen(p, metric.StorageNet, metric.BenchColdItem, metric.BenchItem, metric.BenchStorage, metric.BenchColdOpen, metric.BenchMemory, metric.BenchTierGain,
			metric.DatasetBytes),
		Recommendations: []report.Recommendation{rec},
		Unhelpful:       tooLarge(p),
	}))
	return nil
}
