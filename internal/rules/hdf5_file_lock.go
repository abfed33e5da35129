package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var hdf5FileLock = diagnose.Rule{
	ID:       "hdf5/file-lock",
	Title:    "Workers wait for a file lock",
	Resource: report.Lock,
	Needs:    []metric.Desc{metric.WorkerFileLock, metric.WorkerBusy, metric.StorageNet},
	Limits:   limits(),
	Applies:  func(p *diagnose.Pass) bool { return withWorkers(p) && onHDF5(p) },
	Explains: []string{"loader/workers-too-few", "storage/network"},
	Eval: func(p *diagnose.Pass) {
		if p.Get(metric.StorageNet) < 1 {
			return // HDF5 asks for a lock without waiting for one; what waits is another's lock, for another worker
		}
		busy := p.Get(metric.WorkerBusy)
		waits := share(p.Get(metric.WorkerFileLock) / busy)
		if busy <= 0 || waits < diagnose.Moderate.Value {
			return
		}
		cause{part: waits, lo: waits / 2, hi: waits, change: unlocked,
			summary: fmt.Sprintf("Workers wait for a file lock %s of their busy time", unit.Percent(waits)),
			seen:    seen(p, metric.WorkerFileLock, metric.WorkerBusy, metric.HDF5Opens, metric.StorageNet)}.report(p)
	},
	Measured: &diagnose.Measured{
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchLock},
		Limits:  limits(lockRoundTrip),
		Applies: ofKind("hdf5"),
		Eval:    lockMeasured,
	},
}

// unlocked is what to do about locks.
var unlocked = report.Recommendation{Setting: "HDF5_USE_FILE_LOCKING", To: "FALSE",
	Why: "readers of a file that nobody writes need no lock", Caveat: "only while nothing writes the file"}

var lockRoundTrip = threshold("lock that asks a server", 0.5e-3, metric.Seconds,
	"derived: a round trip on a cluster's network file system takes 0.5 to 2 ms, a local flock some microseconds")

// notSWMR speaks against SWMR mode where files are opened too often.
func notSWMR() []report.Unhelpful {
	return against("SWMR mode: it lets one process write while others read, and makes no read faster", swmr)
}

func lockMeasured(p *diagnose.Pass) {
	lock, _ := p.Evidence.Get(metric.BenchLock)
	if lock.Lo <= 0 {
		return // no more than noise
	}
	before, state := settled(p)
	item := timing{before, less(before, lock.Summary, plainRead(p)), report.Modelled}
	score, rec := item.saved(), unlocked
	summary := fmt.Sprintf("HDF5's file lock takes %s of an item's %s (%s): each item opens a file",
		unit.Seconds(lock.Center), unit.Seconds(before.Center), state)
	if p.OpensPerItem() {
		if score < diagnose.Moderate.Value {
			return
		}
		rec.Effect = item.effect()
	} else {
		if lock.Center < p.Limit(lockRoundTrip) {
			return
		}
		score = 0
		summary = fmt.Sprintf("HDF5's file lock adds %s to each opening of the file; kept open, the file pays that "+
			"once per worker", unit.Seconds(lock.Center))
	}
	p.Report(report.Finding{
		Score: score, Summary: summary,
		Evidence: seen(p, metric.BenchLock, metric.BenchOpen, metric.BenchItem, metric.BenchPerFile,
			metric.StorageNet),
		Recommendations: []report.Recommendation{rec},
		Unhelpful:       notSWMR(),
	})
}
