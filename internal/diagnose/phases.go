package diagnose

import (
	"cmp"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// phase is a part of a worker's time, in the words of the report.
type phase struct {
	name   string
	signal metric.Desc
	making bool // it is, or may be, making a batch: what the hook takes apart
}

// workerPhases are the parts as they are seen from outside.
var workerPhases = []phase{
	{"computing", metric.WorkerRunning, true},
	{"waiting for storage", metric.WorkerStorage, true},
	{"opening, closing files", metric.WorkerOpenWait, true},
	{"waiting for a file lock", metric.WorkerFileLock, true},
	{"waiting for a lock", metric.WorkerLock, true},
	{"handing a batch over", metric.WorkerHandOver, false},
	{"computing in threads", metric.WorkerOwnThreads, true},
	{"running programs", metric.WorkerPrograms, true},
	{"waiting elsewhere", metric.WorkerOtherWait, true},
	{"stopped", metric.WorkerStopped, false},
	{"idle, ahead", metric.WorkerIdle, false},
}

// hookPhases are the parts of making an item that the hook times. They add up to metric.MadeItem.
var hookPhases = []phase{
	{"opening HDF5 files", metric.MadeOpen, true},
	{"reading HDF5", metric.MadeRead, true},
	{"decoding pictures", metric.MadeDecode, true},
	{"resizing pictures", metric.MadeResize, true},
	{"archives, other files", metric.MadeArchive, true},
	{"transforms, other code", metric.MadeOther, true},
	{"collating", metric.MadeCollate, true},
}

// shownPhase is the smallest part worth a line.
const shownPhase = 0.005

// phases says where the time of a worker goes, largest part first. The shares add up to about 1.
func phases(e *evidence.Evidence) []report.Phase {
	var out []report.Phase
	_, told := e.Get(metric.MadeItem)
	making := 0.0
	for _, p := range workerPhases {
		v, ok := e.Get(p.signal)
		share := stat.Share(v.Center)
		switch {
		case !ok:
		case told && p.making:
			making += share
		case share >= shownPhase && p.signal == metric.WorkerRunning:
			out = append(out, computing(e, p.name, share)...)
		case share >= shownPhase:
			out = append(out, report.Phase{Name: p.name, Ratio: share, BatchS: perBatch(e, share),
				Basis: basis(v.Basis)})
		}
	}
	if told && Workerless(e) { // the trainer is its own worker
		var rest report.Phase
		making, rest = ownWork(e)
		if rest.Ratio >= shownPhase {
			out = append(out, rest)
		}
	}
	if told {
		out = append(out, made(e, stat.Share(making))...)
	}
	slices.SortStableFunc(out, func(a, b report.Phase) int { return cmp.Compare(b.Ratio, a.Ratio) })
	return out
}

// shownCode is the smallest part of what a worker computes that is shown by its library.
const shownCode = 0.1

// computing divides the time a worker computes by the libraries it was found in, as far as these are known.
func computing(e *evidence.Evidence, name string, share float64) (out []report.Phase) {
	rest := share
	for _, c := range e.Facts.Code {
		if c.Share >= shownCode && c.Library != metric.CodeOther {
			part := share * c.Share
			rest -= part
			out = append(out, report.Phase{Name: name + ": " + c.Name(), Ratio: part, BatchS: perBatch(e, part),
				Basis: report.Measured})
		}
	}
	if len(out) > 0 {
		name += ": other code"
	}
	if rest >= shownPhase {
		out = append(out, report.Phase{Name: name, Ratio: rest, BatchS: perBatch(e, rest), Basis: report.Measured})
	}
	return out
}

// ownWork is the share of time in which a trainer without workers makes batches, and what is left of it. Where another
// thread than the main one makes them nobody's wait reports the share; what they cost and how many come does.
func ownWork(e *evidence.Evidence) (making float64, rest report.Phase) {
	if wait, ok := InputWait(e); ok {
		making = stat.Share(wait.Center)
		return making, report.Phase{Name: "training, not loading", Ratio: 1 - making,
			BatchS: max(orZero(e, metric.FreeStepTime), 0), Basis: report.Measured}
	}
	making = stat.Share(orZero(e, metric.FetchTime) * orZero(e, metric.BatchesPerS))
	return making, report.Phase{Name: "not loading", Ratio: 1 - making, Basis: report.Measured}
}

// perBatch turns a share of the workers' time into seconds of one worker for each batch; 0 where batches are not
// counted.
func perBatch(e *evidence.Evidence, share float64) float64 {
	workers, batches := orZero(e, metric.NumWorkers), orZero(e, metric.BatchesPerS)
	if batches <= 0 || workers <= 0 {
		return 0
	}
	return share * workers / batches
}

// made divides the share of time in which batches are made as the hook timed it.
func made(e *evidence.Evidence, share float64) []report.Phase {
	var out []report.Phase
	item := orZero(e, metric.MadeItem)
	if item <= 0 {
		return nil
	}
	for _, p := range hookPhases {
		v, ok := e.Get(p.signal)
		part := stat.Share(v.Center / item)
		if ok && part*share >= shownPhase {
			out = append(out, report.Phase{Name: p.name, Ratio: part * share,
				BatchS: part * orZero(e, metric.FetchTime), ItemS: v.Center, Basis: basis(v.Basis)})
		}
	}
	return out
}

// The parts of an item's time in one worker, in the words of the report.
const (
	phaseOpen    = "opening the file"
	phaseStorage = "waiting for storage"
	phaseRead    = "reading"
	phaseUndo    = "reading and HDF5 filters" // not timed apart
	phaseFilter  = "HDF5 filters"
	phaseDecode  = "decoding"
)

// itemPhases says where the time of one item goes in one worker, the largest part first. Opening, filters and
// decoding were measured by themselves; reading is what they leave of a warm item, and storage what a cold one
// takes beyond that. They add up to 1.
func itemPhases(e *evidence.Evidence) []report.Phase {
	var out []report.Phase
	item, isCold, ok := Settled(e)
	if !ok || item.Center <= 0 {
		return out
	}
	left := item.Center
	add := func(name string, seconds float64, b metric.Basis) {
		seconds = min(seconds, left)
		left -= seconds
		if share := stat.Share(seconds / item.Center); share >= shownPhase {
			out = append(out, report.Phase{Name: name, Ratio: share, ItemS: seconds, Basis: basis(b)})
		}
	}
	if warm, ok := e.Get(metric.BenchItem); isCold && ok {
		add(phaseStorage, max(item.Center-warm.Center, 0), metric.Measured)
	}
	decode, _ := e.Get(metric.BenchDecode)
	add(phaseDecode, decode.Center, decode.Basis)
	filter, timed := e.Get(metric.BenchFilter)
	add(phaseFilter, filter.Center, filter.Basis)
	if open, _ := e.Get(metric.BenchOpen); e.OpensPerItem() {
		add(phaseOpen, open.Center, open.Basis)
	}
	rest := phaseRead
	if !timed && orZero(e, metric.HDF5Filters) >= 1 {
		rest = phaseUndo
	}
	add(rest, left, metric.Inferred)
	slices.SortStableFunc(out, func(a, b report.Phase) int { return cmp.Compare(b.Ratio, a.Ratio) })
	return out
}
