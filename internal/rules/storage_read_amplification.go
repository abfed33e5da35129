package rules

import (
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	amplified = threshold("times that what batches hold is read", 10, metric.Count,
		"derived: an item stored as float64 and given as uint8 takes 8; measured: 4.2 of FLAC files that are opened "+
			"three times an item, 1 of pickled arrays, less of what is compressed")
	leastReading = threshold("part of loading that reading takes at the fastest", 0.01, metric.Ratio,
		"measured: 0.1 % or less where workers that are born again for each epoch read what they import; 3 to 33 % "+
			"of row groups, chunks and tables of which an item is a small part")
	largeRead = threshold("bytes that are read for an item", 1<<17, metric.Bytes,
		"derived: a record that is sought is read with what a buffer holds: measured, 8 KiB in Python 3.6 to 3.13 "+
			"(io.DEFAULT_BUFFER_SIZE); 64 to 256 KiB are asked for in cpython issue 117151")
)

var storageReadAmplification = diagnose.Rule{
	ID:       "storage/read-amplification",
	Title:    "Much more is read than batches hold",
	Resource: report.CPU,
	Needs: []metric.Desc{metric.NumWorkers, metric.ReadBytes, metric.MainReadBytes, metric.BatchesPerS,
		metric.BatchBytes},
	Limits: limits(amplified, leastReading, largeRead, readSpeed, openPerItem, sampled),
	Explains: []string{"loader/workers-too-few", "cpu/decode-bound", "cpu/saturated", "storage/fits-in-memory",
		"storage/cold-cache"},
	Applies: func(p *diagnose.Pass) bool {
		kind := format.Kind(p.Facts.DatasetKind) // a picture is one item, HDF5 has rules of its own
		return withWorkers(p) && kind != format.Image && kind != format.HDF5 && p.Facts.HDF5 == nil
	},
	Eval: func(p *diagnose.Pass) {
		opens, counted := p.Maybe(metric.OpensPerBatch)
		if p.Facts.DatasetKind != "" && !counted {
			p.Abstain("how often the dataset's files are opened is not known", "")
			return
		}
		read, rate := p.Get(metric.ReadBytes)/loaders(p), p.Get(metric.BatchesPerS)
		if rate <= 0 || opens >= p.Limit(openPerItem) || decodesMostly(p) || startsAnew(p) {
			return // files of an item each; pictures, however packed; workers that read the dataset as they start
		}
		// what is no tensor comes through pipes, which the trainer reads
		holds := p.Get(metric.BatchBytes) + p.Get(metric.MainReadBytes)/rate
		if holds <= 0 {
			return
		}
		times := read / rate / holds
		items := 1.0
		if size := callOf(p).BatchSize; size != nil {
			items = float64(max(*size, 1))
		}
		if times < p.Limit(amplified) || read/rate < p.Limit(largeRead)*items {
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
		cause{part: (lo + hi) / 2, lo: lo, hi: hi, change: readLess(p, read/rate, holds, inflating),
			summary: fmt.Sprintf("%s are read for each batch of %s, %s times as much as it holds; that takes %s of "+
				"the time spent loading", unit.Bytes(read/rate), unit.Bytes(holds), unit.Number(times),
				between(lo, hi)),
			seen: seen(p, metric.ReadBytes, metric.MainReadBytes, metric.BatchesPerS, metric.BatchBytes,
				metric.WorkerCPUBatch, metric.WorkerStorage),
			unhelpful: notStorage(p)}.report(p)
	},
}

// startsAnew reports whether workers end with each epoch and are not copies of their trainer: those that follow read
// the dataset, as it was pickled, and what they import.
func startsAnew(p *diagnose.Pass) bool {
	return p.OrZero(metric.Restarts) > 0 && p.Facts.StartMethod != "fork"
}

// readLess is what to do about reads of so much more than what a batch holds.
func readLess(p *diagnose.Pass, read, holds, inflating float64) report.Recommendation {
	what := "a database's index on what the query asks for; chunks or row groups of about an item (Zarr, Parquet); " +
		"the offsets of lines or records, to begin there; items stored at the size that training takes"
	switch ending := p.Facts.Extension; {
	case callOf(p).Iterable:
		what = "shards of its own for each worker and rank, and what is left out left out ahead of training"
	case ending == ".parquet":
		what = "row groups of about an item (row_group_size of write_table), and the columns that are needed"
	case inflating >= diagnose.Most.Value || slices.Contains(packedFiles, ending):
		what = "store items so that each can be unpacked by itself, or do not compress them: a stream is unpacked " +
			"from its beginning, or from the last place kept"
	}
	return report.Recommendation{Setting: "bytes read per batch", From: new(unit.Bytes(read)),
		To: "about the " + unit.Bytes(holds) + " that it holds", Why: what,
		Caveat: "or keep what was read, where it fits in memory, and take the next items from it"}
}
