package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	amplified = diagnose.Limit{Name: "bytes that are read for each byte of a batch", Value: 10, Unit: metric.Ratio,
		Source: "derived: an item stored as float64 and given as uint8 takes 8; measured: 4.2 of FLAC files that are " +
			"opened three times an item, 1 of pickled arrays, less of what is compressed"}
	leastReading = diagnose.Limit{Name: "part of loading that reading takes at the fastest", Value: 0.01,
		Unit: metric.Ratio, Source: "measured: 0.1 % or less where workers that are born again for each epoch read " +
			"what they import; 3 to 37 % of row groups, chunks and tables of which an item is a small part"}
)

var storageReadAmplification = diagnose.Rule{
	ID:       "storage/read-amplification",
	Title:    "Much more is read than batches hold",
	Resource: report.CPU,
	Needs:    []metric.Desc{metric.NumWorkers, metric.ReadBytes, metric.BatchesPerS, metric.BatchBytes},
	Limits:   limits(amplified, leastReading, readSpeed, openPerItem, sampled),
	Explains: []string{"loader/workers-too-few", "cpu/decode-bound", "cpu/saturated", "loader/workers-zero",
		"storage/fits-in-memory", "storage/cold-cache"},
	Applies: func(e *evidence.Evidence) bool {
		kind := format.Kind(e.Facts.DatasetKind)
		return kind != format.Image && kind != format.HDF5 // a picture is one item, HDF5 has rules of its own
	},
	Eval: func(p *diagnose.Pass) {
		read, rate, size := p.Get(metric.ReadBytes)/trainers(p), p.Get(metric.BatchesPerS), p.Get(metric.BatchBytes)
		if rate <= 0 || size <= 0 || p.OrZero(metric.OpensPerBatch) >= p.Limit(openPerItem) {
			return // of a file that is opened for each item that is the cause
		}
		times := read / rate / size
		if times < p.Limit(amplified) {
			return
		}
		split, ok := loadingOf(p)
		cpu := cpuOf(p)
		if !ok || cpu <= 0 {
			p.Abstain("where the time of loading goes is unknown", "")
			return
		}
		inflating, _ := decompresses(p)
		lo := max(share(read/p.Limit(readSpeed)/cpu), inflating) * split.running * (1 - 1/times)
		if lo < p.Limit(leastReading) {
			return
		}
		hi := share(split.running + split.storage)
		cause{part: (lo + hi) / 2, lo: lo, hi: hi, change: readLess(p),
			summary: fmt.Sprintf("%s are read for each batch of %s, %s times as much as it holds; that takes %s of "+
				"the time spent loading", unit.Bytes(read/rate), unit.Bytes(size), unit.Number(times), between(lo, hi)),
			seen: seen(p, metric.ReadBytes, metric.BatchesPerS, metric.BatchBytes, metric.WorkerCPUBatch,
				metric.WorkerStorage),
			unhelpful: notStorage(p)}.report(p)
	},
}

// readLess is what to do about reads of much more than an item.
func readLess(p *diagnose.Pass) report.Recommendation {
	what := "a database's index on what the query asks for; chunks or row groups of about an item (Zarr, Parquet); " +
		"the offsets of lines or records, to begin there"
	if p.Evidence.Facts.Extension == ".parquet" {
		what = "row groups of about an item (row_group_size of write_table), the columns that are needed"
	}
	return report.Recommendation{Setting: "what is read for an item", From: new("what lies around it"),
		To: "the item", Why: "so that no more is read and unpacked: " + what,
		Caveat: "or keep what was read, where it fits in memory, and take the next items from it"}
}
