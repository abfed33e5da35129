package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var fitsLimit = diagnose.Limit{Name: "dataset over available memory", Value: 0.5, Unit: metric.Ratio,
	Source: "TensorFlow root_dataset: tf.data's autotuner gives its buffers half of the available RAM"}

var storageFitsInMemory = diagnose.Rule{
	ID:       "storage/fits-in-memory",
	Title:    "The dataset would fit in memory, and storage is waited for",
	Resource: report.OnStorage,
	Doc: `
## What it means
Loading waits for storage although the whole dataset would fit in half of the free memory.

## How it is detected
The dataset's size, what memory can still be used, and the time loading waits for storage.

## How to mend it
Read it once and keep it: a preloaded array or tensor that all workers share, or a copy on tmpfs. On a local file system the page cache does that
by itself after the first epoch; on a network file system it often does not.

## When it is wrong
A copy on tmpfs counts against the job's memory limit. Data held in Python objects (lists of lists) is copied into each worker little by little;
use one large array.
`,
	Needs:   []metric.Desc{metric.NumWorkers, metric.DatasetBytes, metric.Available},
	Limits:  limits(storageLimit, fitsLimit),
	Applies: onDisk,
	Eval: func(p *diagnose.Pass) error {
		waits, size, room := waitsForStorage(p), p.Get(metric.DatasetBytes), p.Get(metric.Available)
		if waits < p.Limit(storageLimit.Name) || size <= 0 || size > p.Limit(fitsLimit.Name)*room {
			return nil
		}
		score := starved(p) * waits
		rec := report.Recommendation{Setting: "where the dataset lies", From: place(p), To: "memory",
			Why:    fmt.Sprintf("%s against %s free: preload it into one array, or copy it to a tmpfs", unit.Bytes(size), unit.Bytes(room)),
			Caveat: "it counts against the job's memory limit"}
		if loader, ok := p.Loader(); ok {
			rec.Effect = loader.SavingUnthrottled(waits/2, waits)
		}
		p.Report(report.Finding{
			Severity: diagnose.Grade(score), Score: score,
			Summary: fmt.Sprintf("Loading waits for storage %s of its time, and the dataset (%s) would fit in memory (%s free)",
				unit.Percent(waits), unit.Bytes(size), unit.Bytes(room)),
			Evidence:        seen(p, metric.DatasetBytes, metric.Available, metric.CacheHits, metric.WorkerStorage, metric.MainStorage),
			Recommendations: []report.Recommendation{rec},
		})
		return nil
	},
	Measured: &diagnose.Measured{
		How: `
For a network file system: the dataset's size against the smaller of the memory that is available and the cgroup's limit, and what an item takes cold and warm. It is
worth knowing and no more, as the page cache may do the same. On a local disk it does, after the first epoch, which storage/cold-cache says. Where the dataset does not fit, findings about storage say
that a copy in memory would not help.
`,
		Needs:   []metric.Desc{metric.DatasetBytes, metric.Available, metric.BenchMemory, metric.BenchItem, metric.BenchColdItem, metric.BenchStorage},
		Limits:  limits(storageLimit, fitsLimit, firstEpoch),
		Applies: onDisk,
		Eval:    fitsMeasured,
	},
}

func fitsMeasured(p *diagnose.Pass) error {
	if p.Get(metric.BenchStorage) < p.Limit(storageLimit.Name) || p.Get(metric.BenchMemory) > p.Limit(fitsLimit.Name) || briefly(p) || !onNetwork(p) {
		return nil
	}
	size, room := p.Get(metric.DatasetBytes), p.Get(metric.Available)
	if limit, ok := p.Maybe(metric.MemLimit); ok {
		room = min(room, limit)
	}
	cold, _ := p.Evidence.Get(metric.BenchColdItem)
	warm, _ := p.Evidence.Get(metric.BenchItem)
	p.Report(report.Finding{
		Severity: report.Info,
		Summary: fmt.Sprintf("The dataset (%s) fits in memory (%s could be used): from there an item takes %s, from storage %s",
			unit.Bytes(size), unit.Bytes(room), unit.Seconds(warm.Center), unit.Seconds(cold.Center)),
		Evidence: seen(p, metric.DatasetBytes, metric.Available, metric.MemLimit, metric.BenchMemory, metric.BenchItem, metric.BenchColdItem),
		Recommendations: []report.Recommendation{{Setting: "where the dataset lies", From: place(p), To: "memory",
			Why:    "the page cache keeps it after the first epoch; a copy on tmpfs, or one array that all workers share, keeps it for certain",
			Caveat: "it counts against the job's memory limit", Effect: clearly(quicker(cold.Summary, warm.Summary, report.Measured, "the first epoch only, where the page cache keeps it"))}},
	})
	return nil
}
