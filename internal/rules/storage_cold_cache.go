package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var coldLimit = threshold("bytes from the page cache", 0.5, metric.Ratio,
	"derived: below it most bytes come from storage")

var storageColdCache = diagnose.Rule{
	ID:       "storage/cold-cache",
	Title:    "The first pass reads from storage; later ones will not",
	Resource: report.OnStorage,
	Needs: []metric.Desc{metric.NumWorkers, metric.CacheHits, metric.DatasetBytes, metric.Available,
		metric.StorageBytes},
	Limits:  limits(storageLimit, coldLimit),
	Applies: onDisk,
	Eval: func(p *diagnose.Pass) {
		waits, hits := waitsForStorage(p), p.Get(metric.CacheHits)
		size, room := p.Get(metric.DatasetBytes), p.Get(metric.Available)
		if waits < p.Limit(storageLimit) || hits > p.Limit(coldLimit) || size > room || thrashing(p) {
			return
		}
		score, when := starved(p)*waits*(1-hits), ""
		if rate := p.Get(metric.StorageBytes); rate > 0 {
			when = fmt.Sprintf(", about %s at this rate", unit.Seconds(size/rate))
		}
		p.Report(report.Finding{
			Score: score,
			Summary: fmt.Sprintf("%s of the bytes come from storage although the dataset (%s) fits in memory (%s "+
				"free): the page cache is cold", unit.Percent(share(1-hits)), unit.Bytes(size), unit.Bytes(room)),
			Evidence: seen(p, metric.CacheHits, metric.StorageBytes, metric.DatasetBytes, metric.Available,
				metric.RefaultRate, metric.WorkerStorage),
			Recommendations: []report.Recommendation{readOnce(new(unit.Percent(hits)+" of bytes read"), when,
				speedup(p, score/2, score, "the next slowest part of loading"))},
		})
	},
	Measured: &diagnose.Measured{
		Needs: []metric.Desc{metric.BenchItem, metric.BenchColdItem, metric.BenchStorage, metric.BenchMemory,
			metric.DatasetBytes},
		Limits:  limits(storageLimit, diagnose.MemoryShare, firstEpoch),
		Applies: onDisk,
		Eval:    coldMeasured,
	},
}

// readOnce is what to do about a cold cache.
func readOnce(from *string, when string, effect *report.Effect) report.Recommendation {
	return report.Recommendation{Setting: "page cache", From: from, Effect: effect,
		To: "the whole dataset, read once before training",
		Why: "the second epoch reads from memory by itself; reading the files once ahead does the same for the first" +
			when}
}

func coldMeasured(p *diagnose.Pass) {
	cold, warm, ok := firstEpochWaits(p)
	if !ok || onNetwork(p) {
		return
	}
	when := ""
	if rate, ok := p.Maybe(metric.BenchDeviceBytes); ok && rate > 0 {
		takes := p.Get(metric.DatasetBytes)/rate + p.OrZero(metric.DatasetFileN)*p.OrZero(metric.BenchColdOpen)
		when = fmt.Sprintf(" in about %s, opened one by one and read at the device's best rate", unit.Seconds(takes))
	}
	p.Report(report.Finding{
		Summary: fmt.Sprintf("A first epoch reads from storage: an item takes %s cold and %s from the page cache, "+
			"where the dataset (%s) fits",
			unit.Seconds(cold.Center), unit.Seconds(warm.Center), unit.Bytes(p.Get(metric.DatasetBytes))),
		Evidence: seen(p, metric.BenchColdItem, metric.BenchItem, metric.BenchStorage, metric.DatasetBytes,
			metric.BenchMemory, metric.Available, metric.BenchDeviceBytes),
		Recommendations: []report.Recommendation{readOnce(nil, when,
			clearly(quicker(cold, warm, report.Measured, "the first epoch only")))},
	})
}

// onNetwork reports whether the dataset is known to lie on a network or FUSE file system.
func onNetwork(p *diagnose.Pass) bool {
	return p.OrZero(metric.StorageNet) > 0
}

// thrashing reports whether the page cache loses what it still needs.
func thrashing(p *diagnose.Pass) bool {
	refaults, fetched, ok := both(p, metric.RefaultRate, metric.StorageBytes)
	return ok && fetched > 0 && refaults*pageBytes/fetched >= refaultLimit.Value
}

// pageBytes is the size refaults are counted in on every machine PyTorch ships for, save 64 KiB arm64 kernels, where it
// is too small.
const pageBytes = 4096

var refaultLimit = threshold("fetched bytes that had been in the cache", 0.20, metric.Ratio,
	"derived from the kernel's workingset_refault_file (Documentation/admin-guide/cgroup-v2.rst): a refault is a "+
		"page read again soon after eviction")
