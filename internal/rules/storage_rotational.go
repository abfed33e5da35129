package rules

import (
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var seekLimit = threshold("latency of a read that seeks", 4e-3, metric.Seconds,
	"a 7,200 rpm disk turns once in 8.3 ms, half of which it waits on average before any seek; the kernel's "+
		"rotational flag alone is set by virtio_blk and nbd too")

var storageRotational = diagnose.Rule{
	ID:       "storage/rotational",
	Title:    "Random reads from a rotating disk",
	Resource: report.OnStorage,
	Needs:    []metric.Desc{metric.NumWorkers, metric.Rotational, metric.DiskLatency},
	Limits:   limits(storageLimit, seekLimit),
	Applies:  onDisk,
	Explains: []string{"storage/latency-bound", "storage/cold-cache"},
	Eval: func(p *diagnose.Pass) {
		waits, latency := waitsForStorage(p), p.Get(metric.DiskLatency)
		if p.Get(metric.Rotational) < 1 || latency < p.Limit(seekLimit) || waits < p.Limit(storageLimit) {
			return
		}
		cause{part: waits, lo: waits / 2, hi: waits, change: toSSD(p),
			summary: fmt.Sprintf("Reads take %s each on a device that says it rotates; loading waits for it %s of "+
				"its time", unit.Seconds(latency), unit.Percent(waits)),
			seen: seen(p, metric.Rotational, metric.DiskLatency, metric.DiskReadRate, metric.DiskQueue,
				metric.WorkerStorage),
			unhelpful: oneHeadForAll()}.report(p)
	},
	Measured: &diagnose.Measured{
		Needs: []metric.Desc{metric.BenchLatency, metric.BenchSerialReads, metric.BenchDeviceReads, metric.BenchItem,
			metric.BenchColdItem, metric.BenchStorage, metric.BenchMemory},
		Limits:  limits(storageLimit, seekLimit, oneHead),
		Applies: func(p *diagnose.Pass) bool { return p.Facts.StorageKind == "disk" },
		Eval:    rotationalMeasured,
	},
}

// toSSD is what to do about a head that seeks.
func toSSD(p *diagnose.Pass) report.Recommendation {
	return report.Recommendation{Setting: "where the dataset lies", From: place(p),
		To: "an SSD, or shards read in order", Why: "an SSD answers a random read in a tenth of a millisecond"}
}

func oneHeadForAll() []report.Unhelpful {
	return against("many more workers: one head serves them all", moreWorkers)
}

var oneHead = threshold("best rate of one head over one request after another", 4, metric.Count,
	"derived: sorting a full queue of 32 requests shortens seeks and turns to about a third; a device that gives "+
		"more has no single head")

func rotationalMeasured(p *diagnose.Pass) {
	latency, serial := p.Get(metric.BenchLatency), p.Get(metric.BenchSerialReads)
	if flag, ok := p.Maybe(metric.Rotational); ok && flag < 1 {
		return
	}
	waits := p.Get(metric.BenchStorage)
	if latency < p.Limit(seekLimit) || serial <= 0 ||
		p.Get(metric.BenchDeviceReads)/serial >= p.Limit(oneHead) || waits < p.Limit(storageLimit) {
		return
	}
	cold, _ := p.Evidence.Get(metric.BenchColdItem)
	rec := toSSD(p)
	if v, ok := p.Evidence.Get(metric.BenchColdOrdered); ok {
		rec.Effect = quicker(cold.Summary, v.Summary, report.Measured, "reading in order from the same disk")
	}
	p.Report(firstPass(p, report.Finding{
		Score: waits,
		Summary: fmt.Sprintf("A random read takes %s, as a seek does, and storage has %s of a cold item's %s",
			unit.Seconds(latency), unit.Percent(waits), unit.Seconds(cold.Center)),
		Evidence: seen(p, metric.BenchLatency, metric.BenchSerialReads, metric.BenchDeviceReads,
			metric.BenchColdItem, metric.BenchStorage, metric.BenchMemory, metric.Rotational),
		Recommendations: []report.Recommendation{rec},
		Unhelpful:       slices.Concat(oneHeadForAll(), tooLarge(p)),
	}))
}
