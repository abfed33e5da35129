package rules

import (
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/format"
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
	opensEach = diagnose.Limit{Name: "times that a library opens a file to read it once", Value: 2, Unit: metric.Count,
		Source: "measured: nibabel opens a volume twice, torch.load, numpy.load and zipfile a file once; tarfile " +
			"opens one that is not compressed four times (Python 3.11)"}
	readSpeed = diagnose.Limit{Name: "reading at the fastest", Value: 1.2e10, Unit: metric.BytesPerS,
		Source: "measured: numpy.load of .npy files of 4 to 12 MB, cached, one core: 5.8 to 12 GB/s, of .npz that " +
			"are not compressed 1.2, compressed 0.15 (NumPy 2, Debian)"}
	archiveAlso = diagnose.Limit{Name: "what a kept archive saves, over opening and reading it", Value: 1.3,
		Unit: metric.Count, Source: "measured: tar, zip, .npz, .npy and .pt files of 60 to 5,000 items: 1.01 to " +
			"1.28 times the time in these calls; 2.7 for torch.load of 12 MB (Python 3.11, Debian)"}
)

var storageChunkReadAgain = diagnose.Rule{
	ID:       "storage/chunk-read-again",
	Title:    "A file of many items is opened and read again for each",
	Resource: report.CPU,
	Needs: []metric.Desc{metric.NumWorkers, metric.FileOpens, metric.OpensPerFile, metric.FileBytes,
		metric.ReadBytes},
	Limits: limits(readAgain, openPerItem, opensEach, readSpeed, archiveAlso, mostLimit),
	Explains: []string{"loader/workers-too-few", "cpu/decode-bound", "cpu/saturated", "loader/workers-zero",
		"storage/fits-in-memory", "storage/cold-cache"},
	Applies: func(e *evidence.Evidence) bool {
		kind := format.Kind(e.Facts.DatasetKind)
		return kind != format.Image && kind != format.HDF5 // a picture is one item, HDF5 has rules of its own
	},
	Eval: func(p *diagnose.Pass) {
		opens, bytes, file := p.Get(metric.FileOpens), p.Get(metric.ReadBytes), p.Get(metric.FileBytes)
		if opens <= 0 || file <= 0 {
			return
		}
		m, _ := madeOf(p)
		whole, again := share(bytes/opens/file), p.Get(metric.OpensPerFile)
		if m.archive > 0 {
			again /= p.Limit(opensEach)
		} else { // what an opening costs is not known, only what it reads
			again *= whole
		}
		perBatch, ok := p.Maybe(metric.OpensPerBatch)
		if again < p.Limit(readAgain) || ok && perBatch < p.Limit(openPerItem) {
			return
		}
		lo, hi, ok := readingAgain(p)
		if !ok {
			p.Abstain("where the time of loading goes is unknown", "")
			return
		}
		spared := 1 - 1/again
		lo, hi = lo*spared, hi*spared
		change := keptOpen(p, opens, whole)
		if p.OrZero(metric.DatasetFileN) > 1 && whole >= p.Limit(mostLimit) {
			change = fileByFile()
		}
		where, line := archiveLine(p)
		summary := fmt.Sprintf("%s times a second a file of many items is opened%s", unit.Number(opens), where)
		if m.archive > 0 {
			change.Falls = metric.MadeArchive.Name
			summary += fmt.Sprintf(": opening and reading it takes %s of an item's %s, %s of the time spent "+
				"loading",
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

// readingAgain is the share of loading that opening and reading these files takes: at the least what the hook timed, or
// their bytes at the fastest; at the most all that loading computes and waits for storage, but for what the hook timed
// of other things. False where no split of loading is known.
func readingAgain(p *diagnose.Pass) (lo, hi float64, ok bool) {
	split, ok := loadingOf(p)
	cpu := cpuOf(p)
	if !ok || cpu <= 0 {
		return 0, 0, false
	}
	lo = share(p.Get(metric.ReadBytes)/trainers(p)/p.Limit(readSpeed)/cpu) * split.running
	hi = share(split.running + split.storage)
	if m, hooked := madeOf(p); hooked && m.archive > 0 {
		lo, hi = max(lo, m.archive), min(hi, m.archive+m.other, p.Limit(archiveAlso)*m.archive)
	} else if hooked {
		hi = min(hi, m.other)
	}
	return min(lo, hi), hi, true
}

// archiveLine is the line of the person's source that spends most on opening archives and reading whole files, as a
// summary goes on with it; "" and nil where none was reported.
func archiveLine(p *diagnose.Pass) (string, *report.Location) {
	sites := hookOf(p).Archives
	if len(sites) == 0 || lineOf(sites[0].File, sites[0].Line) == "" {
		return "", nil
	}
	return ", at " + lineOf(sites[0].File, sites[0].Line), at(sites[0].File, sites[0].Line)
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
	switch p.Evidence.Facts.Extension {
	case ".tar":
		how = "tarfile.open(self.path)"
	case ".zip":
		how = "zipfile.ZipFile(self.path)"
	case ".npy":
		how = `numpy.load(self.path, mmap_mode="r")`
	case ".npz":
		how = "numpy.load(self.path)"
		if whole >= p.Limit(mostLimit) { // an array is read and unpacked each time it is asked for by name
			how = "dict(numpy.load(self.path))"
		}
	case ".pt":
		how = "torch.load(self.path, mmap=True)"
	case ".parquet":
		how = "pyarrow.parquet.read_table(self.path)"
	}
	return report.Recommendation{Setting: "opening the data file", From: new(unit.Number(opens) + " times per second"),
		To: "once per worker, on first use",
		Why: "in __getitem__: if self.data is None: self.data = " + how + "; then read from self.data " +
			"(self.data = None in __init__)",
		Caveat: "an open file must not be shared across a fork and cannot be pickled for spawn; what is not mapped " +
			"but loaded is in memory once for each worker"}
}
