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

var (
	readAgain = diagnose.Limit{Name: "times a file is read whole before nearly all were read once", Value: 3,
		Unit: metric.Count, Source: "derived: with an item in each file, until nine in ten were opened: 1 in an " +
			"epoch, 1.5 from the middle of one into the next, ln 10 / 0.9 = 2.6 where items are drawn with replacement"}
	openPerItem = diagnose.Limit{Name: "opens per batch", Value: 1, Unit: metric.Count,
		Source: "derived: each item opens a file; one that is read from end to end, as a shard, makes many batches"}
	unpackSpeed = diagnose.Limit{Name: "reading and unpacking at the fastest", Value: 2.3e9, Unit: metric.BytesPerS,
		Source: "measured: numpy.load of a 1 MiB .npz that is not compressed, cached, one core: 2.3 GB/s; compressed " +
			"ones 0.12 GB/s of what is stored (NumPy 2, Debian)"}
)

// packedFiles are the extensions of compressed files that may hold many items.
var packedFiles = []string{".npz", ".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip", ".parquet", ".feather"}

var storageChunkReadAgain = diagnose.Rule{
	ID:       "storage/chunk-read-again",
	Title:    "Files of many items are read whole for each item",
	Resource: report.CPU,
	Needs: []metric.Desc{metric.NumWorkers, metric.FileOpens, metric.OpensPerFile, metric.FileBytes,
		metric.ReadBytes},
	Limits: limits(readAgain, openPerItem, unpackSpeed),
	Explains: []string{"loader/workers-too-few", "cpu/decode-bound", "cpu/saturated", "loader/workers-zero",
		"storage/fits-in-memory", "storage/cold-cache"},
	Applies: func(e *evidence.Evidence) bool {
		return e.Facts.DatasetKind == "" || slices.Contains(packedFiles, e.Facts.Extension)
	},
	Eval: func(p *diagnose.Pass) {
		opens, bytes, file := p.Get(metric.FileOpens), p.Get(metric.ReadBytes), p.Get(metric.FileBytes)
		if opens <= 0 || file <= 0 {
			return
		}
		whole := share(bytes / opens / file)
		again := p.Get(metric.OpensPerFile) * whole
		perBatch, ok := p.Maybe(metric.OpensPerBatch)
		if again < p.Limit(readAgain) || ok && perBatch < p.Limit(openPerItem) {
			return
		}
		split, ok := loadingOf(p)
		cpu := cpuOf(p)
		if !ok || cpu <= 0 {
			p.Abstain("where the time of loading goes is unknown", "")
			return
		}
		spared, part := 1-1/again, share(split.running+split.storage)
		if m, ok := madeOf(p); ok {
			part = min(part, m.other) // what the hook timed otherwise is not this
		}
		hi := spared * part
		lo := min(spared*share(bytes/trainers(p)/p.Limit(unpackSpeed)/cpu)*split.running, hi)
		rec := report.Recommendation{Setting: "order of items", From: new("another file for each item"),
			To:  "file by file, in random order, each kept open or in memory",
			Why: "a file that stays open, or in memory, is then read and unpacked once an epoch",
			Caveat: "items of one file come together: mix those of several in a buffer; or store items in files of " +
				"their own"}
		cause{part: (lo + hi) / 2, lo: lo, hi: hi, change: rec,
			summary: fmt.Sprintf("%s times a second a file of many items is opened and %s of its %s are read, each "+
				"at least %s times in an epoch; that takes %s of the time spent loading",
				unit.Number(opens), unit.Percent(whole), unit.Bytes(file), unit.Number(again), between(lo, hi)),
			seen: seen(p, metric.FileOpens, metric.OpensPerFile, metric.OpensPerBatch, metric.DistinctOpens,
				metric.FileBytes, metric.ReadBytes, metric.WorkerCPUBatch),
			unhelpful: slices.Concat(tooSlowly(p), notStorage(p))}.report(p)
	},
}
