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
	Needs:    []metric.Desc{metric.RefaultRate, metric.StorageBytes, metric.NumWorkers},
	Limits:   limits(refaultLimit, storageLimit, leastFetched),
	Explains: []string{"storage/latency-bound", "storage/saturated", "storage/cold-cache"},
	Eval: func(p *diagnose.Pass) {
		waits := waitsForStorage(p)
		if !thrashing(p) || waits < p.Limit(storageLimit) {
			return
		}
		again := share(p.Get(metric.RefaultRate) * pageBytes / p.Get(metric.StorageBytes))
		rec := report.Recommendation{Setting: "memory left for the page cache",
			To:  "at least the part of the dataset that is read again",
			Why: "what stays in the cache is not read from storage again"}
		if size, ok := p.Maybe(metric.DatasetBytes); ok {
			rec.To = unit.Bytes(size)
		}
		if room, ok := p.Maybe(metric.Available); ok {
			rec.From = new(unit.Bytes(room))
		}
		storageCause(waits*again,
			fmt.Sprintf("%s of what is fetched from storage had been in the page cache shortly before; loading waits "+
				"for storage %s of its time", unit.Percent(again), unit.Percent(waits)), rec,
			seen(p, metric.RefaultRate, metric.StorageBytes, metric.CacheHits, metric.DatasetBytes, metric.Available,
				metric.MemLimit)).report(p)
	},
}
