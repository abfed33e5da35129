package rules

import (
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var seekLimit = diagnose.Limit{Name: "latency of a read that seeks", Value: 4e-3, Unit: metric.Seconds,
	Source: "a 7,200 rpm disk turns once in 8.3 ms, half of which it waits on average before any seek; the kernel's rotational flag alone is set by virtio_blk and nbd too"}

var storageRotational = diagnose.Rule{
	ID:       "storage/rotational",
	Title:    "Random reads from a rotating disk",
	Resource: report.OnStorage,
	Doc: `
## What it means
The dataset lies on a rotating disk, and a shuffled epoch makes its head seek for each item: about a hundred reads per second, whatever
the number of workers.

## How it is detected
The kernel says the device rotates and its reads take as long as a seek does. The flag alone is not believed: virtual disks set it too, and one
of them was measured at 16,700 random reads per second.

## How to mend it
Copy the dataset to an SSD, or read in order: shards that are read from end to end, shuffled within a buffer.

## When it is wrong
A virtual disk that is throttled to such latencies shows the same; then see storage/saturated.
`,
	Needs:    []metric.Desc{metric.NumWorkers, metric.Rotational, metric.DiskLatency},
	Limits:   limits(storageLimit, seekLimit),
	Applies:  onDisk,
	Explains: []string{"storage/latency-bound", "storage/cold-cache"},
	Eval: func(p *diagnose.Pass) error {
		waits, latency := waitsForStorage(p), p.Get(metric.DiskLatency)
		if p.Get(metric.Rotational) < 1 || latency < p.Limit(seekLimit.Name) || waits < p.Limit(storageLimit.Name) {
			return nil
		}
		score := starved(p) * waits
		rec := report.Recommendation{Setting: "where the dataset lies", From: place(p), To: "an SSD, or shards read in order",
			Why: "an SSD answers a random read in a tenth of a millisecond"}
		if loader, ok := p.Loader(); ok {
			rec.Effect = loader.Saving(waits/2, waits)
		}
		p.Report(report.Finding{
			Severity: diagnose.Grade(score), Score: score,
			Summary: fmt.Sprintf("Reads take %s each on a device that says it rotates; loading waits for it %s of its time",
				unit.Seconds(latency), unit.Percent(waits)),
			Evidence:        seen(p, metric.Rotational, metric.DiskLatency, metric.DiskReadRate, metric.DiskQueue, metric.WorkerStorage),
			Recommendations: []report.Recommendation{rec},
			Unhelpful:       against("many more workers: one head serves them all", moreWorkers),
		})
		return nil
	},
	Measured: &diagnose.Measured{
		How: `
One direct random read must take as long as a seek, and many in flight must not give many times as much. The flag is asked only to let a device go
that says it does not rotate.
`,
		Needs: []metric.Desc{metric.BenchLatency, metric.BenchSerialReads, metric.BenchDeviceReads, metric.BenchItem, metric.BenchColdItem, metric.BenchStorage,
			metric.BenchMemory},
		Limits:  limits(storageLimit, seekLimit, oneHead),
		Applies: func(e *evidence.Evidence) bool { return e.Facts.StorageKind == "disk" },
		Eval:    rotationalMeasured,
	},
}

var oneHead = diagnose.Limit{Name: "best rate of one head over one request after another", Value: 4, Unit: metric.Count,
	Source: "derived: sorting a full queue of 32 requests shortens seeks and turns to about a third; a device that gives more has no single head"}

func rotationalMeasured(p *diagnose.Pass) error {
	latency, serial := p.Get(metric.BenchLatency), p.Get(metric.BenchSerialReads)
	if flag, ok := p.Maybe(metric.Rotational); ok && flag < 1 {
		return nil
	}
	waits := p.Get(metric.BenchStorage)
	if latency < p.Limit(seekLimit.Name) || serial <= 0 || p.Get(metric.BenchDeviceReads)/serial >= p.Limit(oneHead.Name) || waits < p.Limit(storageLimit.Name) {
		return nil
	}
	cold, _ := p.Evidence.Get(metric.BenchColdItem)
	rec := report.Recommendation{Setting: "where the dataset lies", From: place(p), To: "an SSD, or shards read in order",
		Why: "an SSD answers a random read in a tenth of a millisecond"}
	if v, ok := p.Evidence.Get(metric.BenchColdOrdered); ok {
		rec.Effect = quicker(cold.Summary, v.Summary, report.Measured, "reading in order from the same disk")
	}
	p.Report(firstPass(p, report.Finding{
		Severity: diagnose.Grade(waits), Score: waits,
		Summary:         fmt.Sprintf("A random read takes %s, as a seek does, and storage has %s of a cold item's %s", unit.Seconds(latency), unit.Percent(waits), unit.Seconds(cold.Center)),
		Evidence:        seen(p, metric.BenchLatency, metric.BenchSerialReads, metric.BenchDeviceReads, metric.BenchColdItem, metric.BenchStorage, metric.BenchMemory, metric.Rotational),
		Recommendations: []report.Recommendation{rec},
		Unhelpful:       slices.Concat(against("many more workers: one head serves them all", moreWorkers), tooLarge(p)),
	}))
	return nil
}
