package rules

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	otherFiles = threshold("other files among the opens", 0.5, metric.Ratio,
		"derived: above it most opens are of another file; below it each is opened at least twice in the window, on "+
			"average")
	reopenPerBatch = threshold("opens per batch", 1, metric.Count,
		"derived: a handle that is kept is opened once per worker and epoch, which is less than once per batch")
	reopenPerWorker = threshold("opens per second and loading process", 1, metric.PerSecond,
		"derived: stands in for opens per batch where batches cannot be counted; a kept handle is opened once")
	reopenCost = threshold("least cost of reopening", 0.2e-3, metric.Seconds,
		"measured: h5py 3.7, HDF5 1.10.8, local and cached: open, look up, read and close takes 0.23 to 0.27 ms "+
			"where a read through a kept handle takes 0.02 ms (Debian)")
)

var reopenAbsent = threshold("samples of a busy worker without the file open", 0.05, metric.Ratio,
	"measured: a kept handle was there in every sample, one that is opened per item was missing in 16 to 32 % "+
		"(PyTorch 1.13 and 2.14, Debian); 5 % leaves room for a start")

var reopenAlso = threshold("what a kept handle saves, over opening and closing", 2, metric.Count,
	"measured: small items, local and cached, h5py 3.7, 3.13 and 3.16: open and close 85 to 114 µs; a kept handle "+
		"saves 1.3 to 1.5 times that, a kept handle and dataset 1.7 to 2.0 times (Debian)")

var hdf5ReopenedPerItem = diagnose.Rule{
	ID:       "hdf5/reopened-per-item",
	Title:    "The HDF5 file is opened again and again",
	Resource: report.HDF5,
	Needs:    []metric.Desc{metric.NumWorkers},
	Limits:   limits(otherFiles, reopenPerBatch, reopenPerWorker, reopenCost, reopenAbsent, reopenAlso),
	Applies:  onHDF5,
	Explains: []string{"loader/workers-too-few", "cpu/decode-bound", "cpu/saturated", "loader/workers-zero",
		"hdf5/file-lock", "storage/small-files"},
	Eval: func(p *diagnose.Pass) {
		if m := madeOf(p); m.open > 0 && len(p.Reported().Opens) > 0 {
			reopenedInside(p, m)
			return
		}
		opens, distinct, counted := both(p, metric.HDF5Opens, metric.DistinctOpens)
		if !counted {
			comesAndGoes(p)
			return
		}
		if distinct > p.Limit(otherFiles) || !opensOften(p, opens) {
			return
		}
		split, ok := loadingOf(p)
		if !ok {
			p.Abstain("where the time of loading goes is unknown", "")
			return
		}
		opens /= loaders(p)
		cpu := cpuOf(p)
		if cpu <= 0 {
			p.Abstain("the CPU time of loading is unknown", "")
			return
		}
		lo := share(share(opens*p.Limit(reopenCost)/cpu)*split.running + split.open + split.fileLock)
		hi := max(lo, share(p.OrZero(metric.HandlePresent)))
		cause{part: (lo + hi) / 2, lo: lo, hi: hi,
			change: reopenCure(new(unit.Number(opens)+" opens per second"), p.OrZero(metric.DatasetFileN)),
			summary: fmt.Sprintf("The same HDF5 file is opened %s times per second instead of once per worker; "+
				"that takes %s of the time spent loading", unit.Number(opens), between(lo, hi)),
			seen: seen(p, metric.HDF5Opens, metric.OpensPerBatch, metric.DistinctOpens, metric.HandlePresent,
				metric.WorkerOpenWait),
			unhelpful: slices.Concat(tooSlowly(p), notStorage(p), notCompression(p))}.report(p)
	},
	Measured: &diagnose.Measured{
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchPerFile},
		Limits:  limits(plainOverhead, plainSpeed, plainLeast),
		Applies: ofKind("hdf5"),
		Eval:    reopenedMeasured,
	},
}

// reopenedInside judges by what the hook counted and timed: opens of an item, and what they take of its time. It is
// quiet where the file is opened rarely, or another file each time.
func reopenedInside(p *diagnose.Pass, m made) {
	perBatch, fetch, ok := both(p, metric.OpensPerBatch, metric.FetchTime)
	distinct, ok2 := p.Maybe(metric.DistinctOpens)
	switch {
	case !ok || !ok2:
		p.Abstain("how many different files are opened is unknown: they are too many to be reported one by one", "")
		return
	case perBatch < p.Limit(reopenPerBatch) || distinct > p.Limit(otherFiles):
		return
	}
	lo := m.open
	hi := min(share(p.Limit(reopenAlso)*m.open), m.open+m.read+m.other)
	top := p.Reported().Opens[0]
	often := howOften(perBatch, max(fetch/m.item, 1))
	summary := "The HDF5 file is opened " + often
	if where := lineOf(top.File, top.Line); where != "" {
		summary += ", at " + where
	}
	summary += fmt.Sprintf(": opening and closing takes %s, %s of the %s a worker needs for an item",
		unit.Seconds(m.open*m.item), unit.Percent(m.open), unit.Seconds(m.item))
	rec := reopenCure(&often, openedFiles(p, distinct))
	rec.Why += fmt.Sprintf("; keep the dataset (self.file[%q]) as well, which saves looking it up for each item",
		cmp.Or(layoutOf(p).Name, "NAME"))
	cause{part: (lo + hi) / 2, lo: lo, hi: max(hi, lo), summary: summary, at: diagnose.At(top.File, top.Line),
		change: rec, seen: seen(p, metric.MadeItem, metric.MadeOpen, metric.MadeRead, metric.MadePerS, metric.HDF5Opens,
			metric.OpensPerBatch),
		unhelpful: slices.Concat(tooSlowly(p), notStorage(p), notCompression(p))}.report(p)
}

// howOften says how often something is done for an item or, where that is rarer than every other item, for a batch of
// so many.
func howOften(perBatch, items float64) string {
	n, of := perBatch/items, "item"
	if n < 0.5 {
		n, of = perBatch, "batch"
	}
	if math.Abs(n-1) < 0.05 { // a window cuts through items
		return "once per " + of
	}
	return unit.Number(n) + " times per " + of
}

// openedFiles is how many different files the opens that were reported are of.
func openedFiles(p *diagnose.Pass, distinct float64) float64 {
	calls := 0.0
	for _, o := range p.Reported().Opens {
		calls += o.Calls
	}
	return math.Round(distinct * calls)
}

func reopenedMeasured(p *diagnose.Pass) {
	if p.OpensPerItem() {
		openedMeasured(p)
		return
	}
	if n, ok := p.Maybe(metric.BenchPerFile); ok && whole(n) == "1" {
		return // the one item of the one file: there is nothing to open again, and nothing to merge
	}
	anew, ok := p.Evidence.Get(metric.BenchReopened)
	if !ok {
		missing(p, metric.BenchReopened)
		return
	}
	item, _ := p.Evidence.Get(metric.BenchItem)
	if savedShare(anew.Center, item.Center) < diagnose.Moderate.Value || anew.Lo <= item.Hi {
		return
	}
	p.Report(report.Finding{
		Summary: fmt.Sprintf("An item takes %s through a handle that is kept, and %s where the file is opened for "+
			"each item: keep it open", unit.Seconds(item.Center), unit.Seconds(anew.Center)),
		Evidence:        seen(p, metric.BenchItem, metric.BenchReopened, metric.BenchOpen, metric.BenchPerFile),
		Recommendations: []report.Recommendation{reopenCure(nil, 1)},
		Unhelpful:       notSWMR(),
	})
}

// openedMeasured is the case of one item per file, or of too many files: every item opens another one.
func openedMeasured(p *diagnose.Pass) {
	before, state := settled(p)
	d := metric.BenchOpen
	if state == "cold" {
		d = metric.BenchColdOpen
	}
	open, ok := p.Evidence.Get(d)
	if !ok {
		missing(p, d)
		return
	}
	item := timing{before, less(before, open.Summary, plainRead(p)), report.Modelled}
	rec := report.Recommendation{Setting: "files of the dataset",
		To: "one HDF5 file, items along the first axis of one dataset", Why: "a worker then opens one file, once",
		Caveat: "one file is rewritten as a whole when items are added; some hundred items per file do as well"}
	whose := "Each item is an HDF5 file of its own"
	if n, ok := p.Maybe(metric.DatasetFileN); ok {
		rec.From = new(unit.Number(n) + " files")
		if per, ok := p.Maybe(metric.BenchPerFile); ok && whole(per) != "1" {
			whose = fmt.Sprintf("The items lie in %s HDF5 files, more than a process keeps open", unit.Number(n))
		}
	}
	item.report(p, report.Finding{
		Summary: fmt.Sprintf("%s, and opening one takes %s of the item's %s (%s)",
			whose, unit.Percent(share(open.Center/before.Center)), unit.Seconds(before.Center), state),
		Evidence: seen(p, d, metric.BenchItem, metric.BenchColdItem, metric.BenchOpenRatio, metric.BenchPerFile,
			metric.DatasetFileN, metric.FileBytes),
		Unhelpful: slices.Concat(against("keeping handles open: the next item is in another file",
			report.Unhelpful{Setting: "opening the HDF5 file", Direction: report.Any}),
			against("SWMR mode: it makes no read faster", swmr)),
	}, rec)
}

// comesAndGoes judges without counted opens: the one file of the dataset is open in some samples of a busy worker and
// not in others.
func comesAndGoes(p *diagnose.Pass) {
	present, files, ok := both(p, metric.HandlePresent, metric.DatasetFileN)
	if !ok {
		reason, cure := p.WhyMissing(metric.HDF5Opens)
		p.Abstain(cmp.Or(reason, "opens of HDF5 files were not counted"), cure)
		return
	}
	absent := p.Limit(reopenAbsent)
	if files != 1 || p.OrZero(metric.Restarts) >= 1 || present < absent || present > 1-absent {
		return
	}
	cause{part: present / 2, hi: present, // between nothing and all the time it was open, the read included
		summary: fmt.Sprintf("The HDF5 file is open in %s of the samples of a busy worker and closed in the others: "+
			"it is opened again and again", unit.Percent(share(present))),
		change: reopenCure(nil, 1),
		seen:   seen(p, metric.HandlePresent, metric.DatasetFileN, metric.WorkerBusy),
	}.report(p)
}

// reopenCure is what to do about it: about one file, or about several of which each is opened again and again.
func reopenCure(from *string, files float64) report.Recommendation {
	rec := report.Recommendation{
		Setting: "opening the HDF5 file", From: from, To: "once per worker, on first use", Falls: metric.MadeOpen.Name,
		Why: `in __getitem__: if self.file is None: self.file = h5py.File(self.path, "r"); ` +
			`then read from self.file (self.file = None in __init__)`,
		Caveat: "do not open in __init__: a handle must not be shared across a fork, and cannot be pickled for spawn",
	}
	if files >= 2 {
		rec.To = "once per worker and file, on first use"
		rec.Why = `in __getitem__: if path not in self.files: self.files[path] = h5py.File(path, "r"); ` +
			`then read from self.files[path] (self.files = {} in __init__)`
		rec.Caveat += fmt.Sprintf("; each worker keeps the files open that it has read from (%s were opened; "+
			"ulimit -n)", unit.Number(files))
	}
	return rec
}

// opensOften reports whether files are opened with the items rather than with the workers.
func opensOften(p *diagnose.Pass, opens float64) bool {
	if perBatch, ok := p.Maybe(metric.OpensPerBatch); ok {
		return perBatch >= p.Limit(reopenPerBatch)
	}
	return opens >= p.Limit(reopenPerWorker)*max(p.Get(metric.NumWorkers), 1)*loaders(p)
}

// between says a range of shares, or one where both ends read the same.
func between(lo, hi float64) string {
	a, b := unit.Percent(lo), unit.Percent(hi)
	if a == b {
		return a
	}
	return a + " to " + b
}
