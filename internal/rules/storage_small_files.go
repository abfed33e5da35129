package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	smallFile = threshold("size of a small file", 128<<10, metric.Bytes,
		"Linux VM_READAHEAD_PAGES: read-ahead is 128 KiB, so a smaller file is one request and its overhead is not "+
			"shared")
	manyOpens = threshold("opens per batch", 4, metric.Count, "derived: several files make up a batch")
)

var storageSmallFiles = diagnose.Rule{
	ID:       "storage/small-files",
	Title:    "One small file per item",
	Resource: report.OnStorage,
	Needs:    []metric.Desc{metric.NumWorkers, metric.FileBytes, metric.FileOpens, metric.DistinctOpens},
	Limits:   limits(storageLimit, smallFile, otherFiles, manyOpens),
	Explains: []string{"storage/latency-bound", "storage/cold-cache", "loader/workers-too-few",
		"storage/fits-in-memory", "storage/crowded-folder"},
	Applies: onDisk,
	Eval: func(p *diagnose.Pass) {
		waits, size := waitsForStorage(p), p.Get(metric.FileBytes)
		if size > p.Limit(smallFile) || p.Get(metric.DistinctOpens) < p.Limit(otherFiles) ||
			waits < p.Limit(storageLimit) {
			return
		}
		if perBatch, ok := p.Maybe(metric.OpensPerBatch); ok && perBatch < p.Limit(manyOpens) {
			return
		}
		from := unit.Bytes(size) + " each"
		if n, ok := p.Maybe(metric.DatasetFileN); ok {
			from = unit.Number(n) + " files of " + unit.Bytes(size)
		}
		rec := report.Recommendation{Setting: "files of the dataset", From: new(from), To: "shards of 100 MiB or more",
			Why: "one request then brings many items; storage is asked less often"}
		cause{part: waits, hi: waits, storage: true, change: rec,
			summary: fmt.Sprintf("%s files are opened per second, nearly each another one of %s; loading waits for "+
				"storage %s of its time", unit.Number(p.Get(metric.FileOpens)), unit.Bytes(size), unit.Percent(waits)),
			seen: seen(p, metric.FileOpens, metric.OpensPerBatch, metric.DistinctOpens, metric.FileBytes,
				metric.DatasetFileN, metric.WorkerOpenWait, metric.WorkerStorage, metric.CacheHits),
		}.report(p)
	},
	Measured: &diagnose.Measured{
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchOpen, metric.FileBytes, metric.DatasetFileN},
		Limits:  limits(smallFile, fewFiles),
		Applies: ofKind("image"),
		Eval:    smallFilesMeasured,
	},
}

var fewFiles = threshold("files that are few", 1000, metric.Count,
	"derived: below it a whole pass opens all files in a tenth of a second at 0.1 ms each")

func smallFilesMeasured(p *diagnose.Pass) {
	size, files := p.Get(metric.FileBytes), p.Get(metric.DatasetFileN)
	if size > p.Limit(smallFile) || files < p.Limit(fewFiles) {
		return
	}
	open, _ := p.Evidence.Get(metric.BenchOpen)
	before, state := settled(p)
	warm, _ := p.Evidence.Get(metric.BenchItem)
	after := less(warm.Summary, open.Summary, plainRead(p))
	if rate, ok := p.Maybe(metric.BenchDeviceBytes); ok && rate > 0 && state == "cold" {
		after = more(after, size/rate)
	}
	item := timing{before, after, report.Modelled}
	if t, _, ok := tried(p, "packed-tar"); ok {
		item = t
	}
	item.report(p, report.Finding{
		Summary: fmt.Sprintf("Each item is a file of %s; opening it and asking for it alone takes %s of the item's "+
			"%s (%s)", unit.Bytes(size), unit.Percent(item.saved()), unit.Seconds(item.before.Center), state),
		Evidence: seen(p, metric.DatasetFileN, metric.FileBytes, metric.BenchOpen, metric.BenchColdOpen,
			metric.BenchItem, metric.BenchColdItem, metric.BenchOpenRatio, metric.BenchDeviceBytes),
		Unhelpful: tooLarge(p),
	}, report.Recommendation{Setting: "files of the dataset", From: new(unit.Number(files) + " files of " +
		unit.Bytes(size)), To: "shards of 100 MiB or more",
		Why: "one request then brings many items, and nothing is opened for each"})
}
