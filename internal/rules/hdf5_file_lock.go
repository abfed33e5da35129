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
	Doc: `
## What it means
HDF5 takes a file lock on every open, for reading too (since 1.10.0). On a network file system each lock is a round trip to a server, and a
writer that holds it makes readers wait.

## How it is detected
Workers are found asleep in flock or fcntl for a noticeable part of their busy time.

## How to mend it
For files nobody writes: HDF5_USE_FILE_LOCKING=FALSE in the job's environment, or h5py.File(path, "r", locking=False). And open once per
worker (see hdf5/reopened-per-item).

## When it is wrong
Without the lock a reader can see a file that is being written in an inconsistent state. Other libraries' locks look the same.
`,
	Needs:    []metric.Desc{metric.WorkerFileLock, metric.WorkerBusy},
	Limits:   limits(),
	Applies:  withWorkers,
	Explains: []string{"loader/workers-too-few", "storage/network"},
	Eval: func(p *diagnose.Pass) error {
		busy := p.Get(metric.WorkerBusy)
		if busy <= 0 {
			return nil
		}
		waits := share(p.Get(metric.WorkerFileLock) / busy)
		if waits < diagnose.Moderate.Value {
			return nil
		}
		score := starved(p) * waits
		rec := report.Recommendation{Setting: "HDF5_USE_FILE_LOCKING", To: "FALSE", Why: "readers of a file that nobody writes need no lock",
			Caveat: "only while nothing writes the file"}
		if loader, ok := p.Loader(); ok {
			rec.Effect = loader.Saving(waits/2, waits)
		}
		p.Report(report.Finding{
			Severity: diagnose.Grade(score), Score: score,
			Summary:         fmt.Sprintf("Workers wait for a file lock %s of their busy time", unit.Percent(waits)),
			Evidence:        seen(p, metric.WorkerFileLock, metric.WorkerBusy, metric.HDF5Opens, metric.StorageNet),
			Recommendations: []report.Recommendation{rec},
			Unhelpful:       against("more workers: they wait for the same lock", moreWorkers),
		})
		return nil
	},
	Measured: &diagnose.Measured{
		How: `
Opening a file with the library's lock is timed against opening it without. Where each item is a file of its own, that is its share of an item;
where one file is kept open, it is paid once, and the rule speaks only where a lock costs as much as a round trip to a server.
`,
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchLock},
		Limits:  limits(lockRoundTrip),
		Applies: ofKind("hdf5"),
		Eval:    lockMeasured,
	},
}

var lockRoundTrip = diagnose.Limit{Name: "lock that asks a server", Value: 0.5e-3, Unit: metric.Seconds,
	Source: "derived: a round trip on a cluster's network file system takes 0.5 to 2 ms, a local flock some microseconds"}

func lockMeasured(p *diagnose.Pass) error {
	lock, _ := p.Evidence.Get(metric.BenchLock)
	if lock.Lo <= 0 {
		return nil // no more than noise
	}
	before, state := settled(p)
	after := less(before, lock.Summary, plainRead(p))
	score := savedShare(before.Center, after.Center)
	summary := fmt.Sprintf("HDF5's file lock takes %s of an item's %s (%s): each item opens a file", unit.Seconds(lock.Center), unit.Seconds(before.Center), state)
	rec := report.Recommendation{Setting: "HDF5_USE_FILE_LOCKING", To: "FALSE", Why: "readers of a file that nobody writes need no lock",
		Caveat: "only while nothing writes the file"}
	if p.Evidence.OpensPerItem() {
		if score < diagnose.Moderate.Value {
			return nil
		}
		rec.Effect = quicker(before, after, report.Modelled, "")
	} else {
		if lock.Center < p.Limit(lockRoundTrip.Name) {
			return nil
		}
		score = 0
		summary = fmt.Sprintf("HDF5's file lock adds %s to each opening of the file; kept open, the file pays that once per worker", unit.Seconds(lock.Center))
	}
	p.Report(report.Finding{
		Severity: diagnose.Grade(score), Score: score, Summary: summary,
		Evidence:        seen(p, metric.BenchLock, metric.BenchOpen, metric.BenchItem, metric.BenchPerFile, metric.StorageNet),
		Recommendations: []report.Recommendation{rec},
		Unhelpful:       against("SWMR mode: it lets one process write while others read, and makes no read faster", swmr),
	})
	return nil
}
