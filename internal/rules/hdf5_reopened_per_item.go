package rules

import (
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	otherFiles = diagnose.Limit{Name: "other files among the opens", Value: 0.5, Unit: metric.Ratio,
		Source: "derived: above it most opens are of another file; below it each is opened at least twice in the " +
			"window, on average"}
	reopenPerBatch = diagnose.Limit{Name: "opens per batch", Value: 1, Unit: metric.Count,
		Source: "derived: a handle that is kept is opened once per worker and epoch, which is less than once per batch"}
	reopenPerWorker = diagnose.Limit{Name: "opens per second and loading process", Value: 1, Unit: metric.PerSecond,
		Source: "derived: stands in for opens per batch where batches cannot be counted; a kept handle is opened once"}
	reopenCost = diagnose.Limit{Name: "least cost of reopening", Value: 0.2e-3, Unit: metric.Seconds,
		Source: "measured: h5py 3.7, HDF5 1.10.8, local and cached: open, look up, read and close takes 0.23 to 0.27 " +
			"ms where a read through a kept handle takes 0.02 ms (Debian)"}
)

var reopenAbsent = diagnose.Limit{Name: "samples of a busy worker without the file open", Value: 0.05,
	Unit: metric.Ratio,
	Source: "measured: a kept handle was there in every sample, one that is opened per item was missing in 16 to 32 " +
		"% " +
		"(PyTorch 1.13 and 2.14, Debian); 5 % leaves room for a start"}

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
		if m, ok := madeOf(p); ok && m.open > 0 && len(p.Evidence.Facts.Hook.Opens) > 0 {
			reopenedInside(p, m)
			return
		}
		opens, counted := p.Maybe(metric.HDF5Opens)
		distinct, told := p.Maybe(metric.DistinctOpens)
		if !counted || !told {
			comesAndGoes(p)
			return
		}
		if distinct > p.Limit(otherFiles.Name) || !opensOften(p, opens) {
			return
		}
		split, ok := loadingOf(p)
		if !ok {
			p.Abstain("where the time of loading goes is unknown", "")
			return
		}
		opens /= trainers(p)
		cpu := cpuOf(p)
		if cpu <= 0 {
			p.Abstain("the CPU time of loading is unknown", "")
			return
		}
		lo := share(share(opens*p.Limit(reopenCost.Name)/cpu)*split.running + split.open + split.fileLock)
		hi := lo
		if present, ok := p.Maybe(metric.HandlePresent); ok {
			hi = max(hi, share(present))
		}
		often := new(fmt.Sprintf("%s opens per second", unit.Number(opens)))
		rec := reopenCure(often)
		if files, ok := p.Maybe(metric.DatasetFileN); ok && files >= 2 {
			rec = reopenEach(often, files)
		}
		f := cause{part: (lo + hi) / 2, lo: lo, hi: hi, change: rec,
			summary: fmt.Sprintf("The same HDF5 file is opened %s times per second instead of once per worker; "+
				"that takes %s of the time spent loading", unit.Number(opens), between(lo, hi)),
			seen: seen(p, metric.HDF5Opens, metric.OpensPerBatch, metric.DistinctOpens, metric.HandlePresent,
				metric.WorkerOpenWait)}.finding(p)
		f.Unhelpful = slices.Concat(tooSlowly(p), notStorage(p), notCompression(p))
		p.Report(f)
	},
	Measured: &diagnose.Measured{
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchPerFile},
		Limits:  limits(plainOverhead, plainSpeed),
		Applies: ofKind("hdf5"),
		Eval:    reopenedMeasured,
	},
}

func reopenedMeasured(p *diagnose.Pass) {
	if p.Evidence.OpensPerItem() {
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
	kept := item.Center
	if savedShare(anew.Center, kept) < diagnose.Moderate.Value || anew.Lo <= item.Hi {
		return
	}
	p.Report(report.Finding{
		Severity: report.Info,
		Summary: fmt.Sprintf("An item takes %s through a handle that is kept, and %s where the file is opened for "+
			"each item: keep it open",
			unit.Seconds(kept), unit.Seconds(anew.Center)),
		Evidence:        seen(p, metric.BenchItem, metric.BenchReopened, metric.BenchOpen, metric.BenchPerFile),
		Recommendations: []report.Recommendation{reopenCure(nil)},
		Unhelpful: against("SWMR mode: it lets one process write while others read, and makes no read faster",
			swmr),
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
	score := item.saved()
	if score < diagnose.Moderate.Value {
		return
	}
	rec := report.Recommendation{Setting: "files of the dataset",
		To: "one HDF5 file, items along the first axis of one dataset", Why: "a worker then opens one file, once",
		Caveat: "one file is rewritten as a whole when items are added; some hundred items per file do as well",
		Effect: item.effect()}
	whose := "Each item is an HDF5 file of its own"
	if n, ok := p.Maybe(metric.DatasetFileN); ok {
		rec.From = new(unit.Number(n) + " files")
		if per, ok := p.Maybe(metric.BenchPerFile); ok && whole(per) != "1" {
			whose = fmt.Sprintf("The items lie in %s HDF5 files, more than a process keeps open", unit.Number(n))
		}
	}
	p.Report(report.Finding{
		Score: score,
		Summary: fmt.Sprintf("%s, and opening one takes %s of the item's %s (%s)",
			whose, unit.Percent(share(open.Center/before.Center)), unit.Seconds(before.Center), state),
		Evidence: seen(p, d, metric.BenchItem, metric.BenchColdItem, metric.BenchOpenRatio, metric.BenchPerFile,
			metric.DatasetFileN, metric.FileBytes),
		Recommendations: []report.Recommendation{rec},
		Unhelpful: slices.Concat(against("keeping handles open: the next item is in another file",
			report.Unhelpful{Setting: "opening the HDF5 file", Direction: report.Any}),
			against("SWMR mode: it makes no read faster", swmr)),
	})
}

// comesAndGoes judges without counted opens: the one file of the dataset is open in some samples of a busy worker and
// not in others.
func comesAndGoes(p *diagnose.Pass) {
	present, ok := p.Maybe(metric.HandlePresent)
	files, ok2 := p.Maybe(metric.DatasetFileN)
	if !ok || !ok2 {
		reason, cure := p.Evidence.WhyMissing(metric.HDF5Opens)
		if reason == "" {
			reason = "opens of HDF5 files were not counted"
		}
		p.Abstain(reason, cure)
		return
	}
	restarts, _ := p.Maybe(metric.Restarts)
	absent := p.Limit(reopenAbsent.Name)
	if files != 1 || restarts >= 1 || present < absent || present > 1-absent {
		return
	}
	p.Report(cause{part: present / 2, hi: present, // between nothing and all the time it was open, the read included
		summary: fmt.Sprintf("The HDF5 file is open in %s of the samples of a busy worker and closed in the others: "+
			"it is opened again and again", unit.Percent(share(present))),
		change: reopenCure(nil),
		seen:   seen(p, metric.HandlePresent, metric.DatasetFileN, metric.WorkerBusy),
	}.finding(p))
}

// reopenCure is what to do about it.
func reopenCure(from *string) report.Recommendation {
	return report.Recommendation{
		Setting: "opening the HDF5 file", From: from, To: "once per worker, on first use", Falls: metric.MadeOpen.Name,
		Why:    `in __getitem__: if self.file is None: self.file = h5py.File(self.path, "r"); then read from self.file (self.file = None in __init__)`,
		Caveat: "do not open in __init__: a handle must not be shared across a fork, and cannot be pickled for spawn",
	}
}

// reopenEach is what to do about several files of which each is opened again and again.
func reopenEach(from *string, files float64) report.Recommendation {
	return report.Recommendation{
		Setting: "opening the HDF5 file", From: from, To: "once per worker and file, on first use",
		Falls: metric.MadeOpen.Name,
		Why:   `in __getitem__: if path not in self.files: self.files[path] = h5py.File(path, "r"); then read from self.files[path] (self.files = {} in __init__)`,
		Caveat: fmt.Sprintf("do not open in __init__: a handle must not be shared across a fork, and cannot be "+
			"pickled for spawn; each worker keeps the files open that it has read from (%s were opened; ulimit -n)",
			unit.Number(files)),
	}
}

// opensOften reports whether files are opened with the items rather than with the workers.
func opensOften(p *diagnose.Pass, opens float64) bool {
	if perBatch, ok := p.Maybe(metric.OpensPerBatch); ok {
		return perBatch >= p.Limit(reopenPerBatch.Name)
	}
	return opens >= p.Limit(reopenPerWorker.Name)*max(p.Get(metric.NumWorkers), 1)
}

// between says a range of shares, or one where both ends read the same.
func between(lo, hi float64) string {
	a, b := unit.Percent(lo), unit.Percent(hi)
	if a == b {
		return a
	}
	return a + " to " + b
}
