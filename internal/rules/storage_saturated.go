package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var storageSaturated = diagnose.Rule{
	ID:       "storage/saturated",
	Title:    "Storage gives all it can",
	Resource: report.OnStorage,
	Needs:    []metric.Desc{metric.NumWorkers, metric.DiskReadRate, metric.DiskByteRate},
	Limits:   limits(storageLimit, nearLimit, busyRate, busyReads, deepQueue, neverEmpty),
	Applies:  onDisk,
	Explains: []string{"loader/workers-too-few", "storage/latency-bound", "storage/cold-cache", "storage/rotational",
		"loader/workers-zero", "loader/slow-sample-blocks", "storage/fits-in-memory"},
	Eval: func(p *diagnose.Pass) {
		waits := waitsForStorage(p)
		if waits < p.Limit(storageLimit) || !full(p) {
			return
		}
		score := starved(p) * waits
		rate := fmt.Sprintf("%s and %s reads per second", unit.Format(p.Get(metric.DiskByteRate),
			string(metric.BytesPerS)), unit.Number(p.Get(metric.DiskReadRate)))
		f := report.Finding{
			Score: score,
			Summary: fmt.Sprintf("Loading waits for storage %s of its time, and the device gives all it can: %s",
				unit.Percent(waits), rate),
			Evidence: seen(p, metric.WorkerStorage, metric.MainStorage, metric.DiskReadRate, metric.DiskByteRate,
				metric.ReadIOPSLimit, metric.ReadBPSLimit, metric.DiskLatency, metric.DiskQueue, metric.DiskUtil,
				metric.CacheHits, metric.IOPressure),
			Unhelpful: neitherMoreNorDeeper("the same bytes come no faster"),
		}
		if used, reads, limit, ok := allowance(p); ok && used >= p.Limit(nearLimit) {
			f.Summary, f.Recommendations = throttled(p, waits, reads, limit)
		} else {
			f.Recommendations = []report.Recommendation{{Setting: "where the dataset lies", From: place(p),
				To:     "memory (tmpfs, a preloaded array) or a faster local disk",
				Why:    "the device is full; only fewer bytes per batch or a faster device help",
				Effect: speedup(p, score/2, score, "the next slowest part of loading")}}
		}
		p.Report(f)
	},
}

// throttled is the case of a limit set on the job's cgroup.
func throttled(p *diagnose.Pass, waits float64, reads bool, limit float64) (string, []report.Recommendation) {
	what, said := "bytes", func(rate float64) string { return unit.Format(rate, string(metric.BytesPerS)) }
	if reads {
		what, said = "reads", func(rate float64) string { return unit.Number(rate) + " reads per second" }
	}
	rec := report.Recommendation{Setting: "read limit of the job's cgroup", From: new(said(limit)), To: "none",
		Why: "the job reads at that limit", Caveat: "whoever set it had a reason; ask before raising it"}
	if loader, ok := p.Loader(); ok {
		pace := p.OrZero(metric.BatchesPerS) * loader.FreeStep.Center // of what the step could take
		if pace > 0 && pace < 1 {
			rec.To = "at least " + said(limit/pace)
		}
		rec.Effect = loader.Saving(waits/2, waits, true)
	}
	recs := []report.Recommendation{rec}
	if reads {
		recs = append(recs, largerReads(p, "the limit counts requests: store items that are read together next to "+
			"each other and read them at once")...)
	}
	return fmt.Sprintf("Loading waits for storage %s of its time: the job's cgroup allows %s, and all the %s it "+
		"allows are used", unit.Percent(waits), said(limit), what), recs
}

// place names where the dataset lies; nil unknown.
func place(p *diagnose.Pass) *string {
	f := p.Facts
	if f.FSType != "" && f.Device != "" {
		return new(f.FSType + " on " + f.Device)
	}
	return nonEmpty(f.FSType)
}
