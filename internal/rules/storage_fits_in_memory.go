package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var storageFitsInMemory = diagnose.Rule{
	ID:       "storage/fits-in-memory",
	Title:    "The dataset would fit in memory, and storage is waited for",
	Resource: report.OnStorage,
	Needs:    []metric.Desc{metric.NumWorkers, metric.DatasetBytes, metric.Available},
	Limits:   limits(storageLimit, diagnose.MemoryShare),
	Applies:  onDisk,
	Eval: func(p *diagnose.Pass) {
		waits, size, room := waitsForStorage(p), p.Get(metric.DatasetBytes), p.Get(metric.Available)
		if waits < p.Limit(storageLimit) || size <= 0 || size > p.Limit(diagnose.MemoryShare)*room {
			return
		}
		storageCause(waits,
			fmt.Sprintf("Loading waits for storage %s of its time, and the dataset (%s) would fit in memory (%s free)",
				unit.Percent(waits), unit.Bytes(size), unit.Bytes(room)),
			report.Recommendation{Setting: "where the dataset lies", From: place(p), To: "memory",
				Why: fmt.Sprintf("%s against %s free: preload it into one array, or copy it to a tmpfs",
					unit.Bytes(size), unit.Bytes(room)),
				Caveat: "it counts against the job's memory limit"},
			seen(p, metric.DatasetBytes, metric.Available, metric.CacheHits, metric.WorkerStorage,
				metric.MainStorage)).report(p)
	},
	Measured: &diagnose.Measured{
		Needs: []metric.Desc{metric.DatasetBytes, metric.Available, metric.BenchMemory, metric.BenchItem,
			metric.BenchColdItem, metric.BenchStorage},
		Limits:  limits(storageLimit, diagnose.MemoryShare, firstEpoch),
		Applies: onDisk,
		Eval:    fitsMeasured,
	},
}

func fitsMeasured(p *diagnose.Pass) {
	cold, warm, ok := firstEpochWaits(p)
	if !ok || !onNetwork(p) {
		return
	}
	size, room := p.Get(metric.DatasetBytes), p.Get(metric.Available)
	if limit, ok := p.Maybe(metric.MemLimit); ok {
		room = min(room, limit)
	}
	p.Report(report.Finding{
		Summary: fmt.Sprintf("The dataset (%s) fits in memory (%s could be used): from there an item takes %s, from "+
			"storage %s", unit.Bytes(size), unit.Bytes(room), unit.Seconds(warm.Center), unit.Seconds(cold.Center)),
		Evidence: seen(p, metric.DatasetBytes, metric.Available, metric.MemLimit, metric.BenchMemory, metric.BenchItem,
			metric.BenchColdItem),
		Recommendations: []report.Recommendation{{Setting: "where the dataset lies", From: place(p), To: "memory",
			Why: "the page cache keeps it after the first epoch; a copy on tmpfs, or one array that all workers " +
				"share, keeps it for certain",
			Caveat: "it counts against the job's memory limit", Effect: clearly(quicker(cold, warm, report.Measured,
				"the first epoch only, where the page cache keeps it"))}},
	})
}
