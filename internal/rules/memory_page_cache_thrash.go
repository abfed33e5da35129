package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var memoryPageCacheThrash = diagnose.Rule{
	ID:       "memory/page-cache-thrash",
	Title:    "The page cache loses what is needed again",
	Resource: report.Memory,
	Doc: `
## What it means
The dataset does not fit in the page cache, or the job's memory limit leaves it too little, so pages are read from storage again soon after
they were dropped.

## How it is detected
The kernel counts pages that come back soon after eviction (workingset_refault_file). When they make up a good part of what is fetched, and
loading waits for storage, the cache is too small for what the job goes through.

## How to mend it
Leave the cache more room (a higher memory limit, fewer workers, less preloaded data), make the dataset smaller, or read it from faster storage.

## When it is wrong
The count is the machine's where the job has no cgroup of its own: another program may be the one that reads.
`,
	Needs:    []metric.Desc{metric.RefaultRate, metric.StorageBytes, metric.NumWorkers},
	Limits:   limits(refaultLimit, storageLimit),
	Explains: []string{"storage/latency-bound", "storage/saturated", "storage/cold-cache"},
	Eval: func(p *diagnose.Pass) error {
		waits := waitsForStorage(p)
		if !thrashing(p) || waits < p.Limit(storageLimit.Name) {
			return nil
		}
		again := share(p.Get(metric.RefaultRate) * pageBytes / p.Get(metric.StorageBytes))
		score := starved(p) * waits * again
		rec := report.Recommendation{Setting: "memory left for the page cache", To: "at least the part of the dataset that is read again"}
		if size, ok := p.Maybe(metric.DatasetBytes); ok {
			rec.To = unit.Bytes(size)
		}
		if room, ok := p.Maybe(metric.Available); ok {
			rec.From = text(unit.Bytes(room))
		}
		rec.Why = "what stays in the cache is not read from storage again"
		if loader, ok := p.Loader(); ok {
			rec.Effect = loader.SavingUnthrottled(waits*again/2, waits*again)
		}
		p.Report(report.Finding{
			Severity: diagnose.Grade(score), Score: score,
			Summary: fmt.Sprintf("%s of what is fetched from storage had been in the page cache shortly before; loading waits for storage %s of its time",
				unit.Percent(again), unit.Percent(waits)),
			Evidence:        seen(p, metric.RefaultRate, metric.StorageBytes, metric.CacheHits, metric.DatasetBytes, metric.Available, metric.MemLimit),
			Recommendations: []report.Recommendation{rec},
		})
		return nil
	},
}
