package rules

import (
	"cmp"
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
	Needs:    []metric.Desc{metric.NumWorkers, metric.StorageNet},
	Limits:   limits(storageLimit),
	Applies:  onDisk,
	Explains: []string{"storage/latency-bound", "storage/cold-cache", "loader/workers-too-few",
		"storage/fits-in-memory"},
	Eval: func(p *diagnose.Pass) {
		split, ok := loadingOf(p)
		if !ok || p.Get(metric.StorageNet) < 1 {
			return
		}
		waits := share(waitsForStorage(p) + split.fileLock)
		if waits < p.Limit(storageLimit) {
			return
		}
		rec := report.Recommendation{Setting: "where the dataset lies", From: place(p), To: "a local disk",
			Why: "reads and opens then cost microseconds instead of round trips; copy it once at the start of the job"}
		if size, ok := p.Maybe(metric.DatasetBytes); ok {
			rec.Why += fmt.Sprintf(" (%s)", unit.Bytes(size))
		}
		f := storageCause(waits,
			fmt.Sprintf("The dataset lies on %s, and loading waits for it %s of its time", fileSystem(p),
				unit.Percent(waits)), rec,
			seen(p, metric.StorageNet, metric.WorkerStorage, metric.WorkerOpenWait, metric.MainStorage,
				metric.FileOpens, metric.BytesPerRead, metric.DatasetBytes)).finding(p)
		f.Recommendations = append(f.Recommendations, moreReaders(p)...)
		p.Report(f)
	},
	Measured: &diagnose.Measured{
		Needs: []metric.Desc{metric.StorageNet, metric.BenchItem, metric.BenchColdItem, metric.BenchStorage,
			metric.BenchMemory},
		Limits:  limits(storageLimit, diagnose.MemoryShare),
		Applies: onDisk,
		Eval:    networkMeasured,
	},
}

// fileSystem names the type of the mount that the dataset lies on.
func fileSystem(p *diagnose.Pass) string {
	return cmp.Or(p.Facts.FSType, "a network or FUSE file system")
}

func networkMeasured(p *diagnose.Pass) {
	waits := p.Get(metric.BenchStorage)
	if p.Get(metric.StorageNet) < 1 || waits < p.Limit(storageLimit) {
		return
	}
	cold, _ := p.Evidence.Get(metric.BenchColdItem)
	rec := report.Recommendation{Setting: "where the dataset lies", From: place(p), To: "a local disk",
		Why: "reads and opens are no round trips there; copy it once at the start of the job"}
	score := waits
	if gain, ok := p.Evidence.Get(metric.BenchTierGain); ok {
		score = share(gain.Center)
		rec.To, rec.Why = "the storage it was compared with", "the same sample was measured there"
		rec.Effect = quicker(cold.Summary, spread(cold.Lo*(1-gain.Hi), cold.Center*(1-gain.Center),
			cold.Hi*(1-gain.Lo)), report.Measured, "")
		if rec.Effect == nil {
			return // the other storage is no better
		}
	}
	p.Report(firstPass(p, report.Finding{
		Score: score,
		Summary: fmt.Sprintf("The dataset lies on %s, which has %s of a cold item's %s", fileSystem(p),
			unit.Percent(waits), unit.Seconds(cold.Center)),
		Evidence: seen(p, metric.StorageNet, metric.BenchColdItem, metric.BenchItem, metric.BenchStorage,
			metric.BenchColdOpen, metric.BenchMemory, metric.BenchTierGain, metric.DatasetBytes),
		Recommendations: []report.Recommendation{rec},
		Unhelpful:       tooLarge(p),
	}))
}
