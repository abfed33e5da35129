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
	readAgain = threshold("times a file is read whole before nearly all were read once", 3, metric.Count,
		"derived: with an item in each file, until nine in ten were opened: 1 in an epoch, 1.5 from the middle of "+
			"one into the next, ln 10 / 0.9 = 2.6 where items are drawn with replacement")
	openPerItem = threshold("opens per batch", 1, metric.Count,
		"derived: each item opens a file; one that is read from end to end, as a shard, makes many batches")
	opensTar = threshold("times that tarfile opens a file to read it once", 4, metric.Count,
		"measured: tarfile.open of an archive that is not compressed (Python 3.11); torch.load, numpy.load and "+
			"zipfile open a file once")
	readSpeed = threshold("reading at the fastest", 1.2e10, metric.BytesPerS,
		"measured: numpy.load of .npy files of 4 to 12 MB, cached, one core: 5.8 to 12 GB/s, of .npz that are not "+
			"compressed 1.2, compressed 0.15 (NumPy 2, Debian)")
	manyFiles = threshold("files that are read one after the other", 8, metric.Count,
		"derived: of fewer each worker can keep all")
	theArchive = threshold("opening and reading that is of one line", 0.9, metric.Ratio,
		"derived: what else opens or reads files is then within an interval's width")
)

// packedFiles are the endings of files that are compressed as a whole, or member by member.
var packedFiles = []string{".npz", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".lz4", ".zip", ".parquet", ".feather"}

var storageChunkReadAgain = diagnose.Rule{
	ID:       "storage/chunk-read-again",
	Title:    "A file of many items is opened and read again for each",
	Resource: report.CPU,
	Needs: []metric.Desc{metric.NumWorkers, metric.FileOpens, metric.OpensPerFile, metric.FileBytes,
		metric.ReadBytes},
	Limits: limits(readAgain, openPerItem, opensTar, readSpeed, sampled, manyFiles, theArchive, diagnose.Most),
	Explains: []string{"loader/workers-too-few", "cpu/decode-bound", "cpu/saturated", "loader/workers-zero",
		"storage/fits-in-memory", "storage/cold-cache"},
	Applies: func(p *diagnose.Pass) bool {
		kind := format.Kind(p.Facts.DatasetKind)
		return kind != format.Image && kind != format.HDF5 // a picture is one item, HDF5 has rules of its own
	},
	Eval: func(p *diagnose.Pass) {
		opens, bytes, file := p.Get(metric.FileOpens), p.Get(metric.ReadBytes), p.Get(metric.FileBytes)
		if opens <= 0 || file <= 0 {
			return
		}
		whole, again := share(bytes/opens/file), p.Get(metric.OpensPerFile)
		m, inside := openedInside(p)
		switch {
		case !inside: // what an opening costs is not known, only what it reads
			again *= whole
		case p.Facts.Extension == ".tar":
			again /= p.Limit(opensTar)
		}
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
		lo := share(bytes/loaders(p)/p.Limit(readSpeed)/cpu) * split.running
		hi := share(split.running + split.storage)
		if madeOf(p).item > 0 { // by the clock: waits within it, as for a pool of threads, go too
			hi = m.archive + m.other
		} else if whole >= p.Limit(diagnose.Most) && slices.Contains(packedFiles, p.Facts.Extension) {
			inflating, _ := decompresses(p)
			lo = max(lo, inflating*split.running)
		}
		where, line := "", (*report.Location)(nil)
		if inside {
			var one bool
			if where, line, one = archiveLine(p); one {
				lo = max(lo, m.archive)
			}
		}
		lo = min(lo*(1-1/again), hi) // they are read again so often at the least
		change := keptOpen(p, opens, whole)
		if p.OrZero(metric.DatasetFileN) >= p.Limit(manyFiles) && whole >= p.Limit(diagnose.Most) {
			change = fileByFile()
		}
		summary := fmt.Sprintf("%s times a second a file of many items is opened%s", unit.Number(opens), where)
		if inside {
			change.Falls = metric.MadeArchive.Name
			summary += fmt.Sprintf(": opening and reading it takes %s of an item's %s, %s of the time spent loading",
				unit.Seconds(m.archive*m.item), unit.Seconds(m.item), between(lo, hi))
		} else {
			summary += fmt.Sprintf(" and %s of its %s are read, at least %s times all of it in an epoch; that takes "+
				"%s of the time spent loading", unit.Percent(whole), unit.Bytes(file), unit.Number(again),
				between(lo, hi))
		}
		cause{part: (lo + hi) / 2, lo: lo, hi: hi, change: change, summary: summary, at: line,
			seen: seen(p, metric.MadeItem, metric.MadeArchive, metric.FileOpens, metric.OpensPerFile,
				metric.OpensPerBatch, metric.DistinctOpens, metric.FileBytes, metric.ReadBytes, metric.WorkerCPUBatch),
			unhelpful: slices.Concat(tooSlowly(p), notStorage(p))}.report(p)
	},
}

// openedInside is what the hook timed; false where opening and reading archives and other files is less of it than what
// may be reading that it does not time.
func openedInside(p *diagnose.Pass) (made, bool) {
	m := madeOf(p)
	return m, m.archive > 0 && m.archive >= m.other
}

// archiveLine is the line of the person's source that spends most on opening and reading archives and other files, as a
// summary goes on with it, and whether it spends nearly all; "" and nil where it does not, or none was reported.
func archiveLine(p *diagnose.Pass) (string, *report.Location, bool) {
	sites, all := p.Reported().Archives, 0.0
	for _, s := range sites {
		all += s.Seconds
	}
	if len(sites) == 0 || lineOf(sites[0].File, sites[0].Line) == "" || sites[0].Seconds < p.Limit(theArchive)*all {
		return "", nil, false
	}
	return ", at " + lineOf(sites[0].File, sites[0].Line), diagnose.At(sites[0].File, sites[0].Line), true
}

// fileByFile is what to do about many files that are read whole for each item.
func fileByFile() report.Recommendation {
	return report.Recommendation{Setting: "order of items", From: new("another file for each item"),
		To:  "file by file, in random order, each kept open or in memory",
		Why: "a file that stays open, or in memory, is then read and unpacked once an epoch",
		Caveat: "items of one file come together: mix those of several in a buffer; or store items in files of " +
			"their own"}
}

// keptOpen is what to do about a file that is opened for each item, of which a part is read, the list of what it holds
// as a rule, or all of it.
func keptOpen(p *diagnose.Pass, opens, whole float64) report.Recommendation {
	how := "what opens or loads it"
	switch p.Facts.Extension {
	case ".tar":
		how = "tarfile.open(self.path)"
	case ".zip":
		how = "zipfile.ZipFile(self.path)"
	case ".npy":
		how = `numpy.load(self.path, mmap_mode="r")`
	case ".npz":
		how = "numpy.load(self.path)"
		if whole >= p.Limit(diagnose.Most) { // an array is read and unpacked each time it is asked for by name
			how = "dict(numpy.load(self.path))"
		}
	case ".pt":
		how = "torch.load(self.path)"
	case ".parquet":
		how = "pyarrow.parquet.read_table(self.path)"
	}
	return report.Recommendation{Setting: "opening the data file", From: new(unit.Number(opens) + " times per second"),
		To: "once per worker and file, on first use",
		Why: "in __getitem__: if self.data is None: self.data = " + how + "; then read from self.data " +
			"(self.data = None in __init__)",
		Caveat: "an open file must not be shared across a fork and cannot be pickled for spawn; what is not mapped " +
			"but loaded is in memory once for each worker"}
}
