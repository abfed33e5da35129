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
			rec.Effect = loader.EffectBetween(waits/2, waits)
		}
		p.Report(report.Finding{
			Severity: diagnose.Grade(score), Score: score,
			Summary:         fmt.Sprintf("Workers wait for a file lock %s of their busy time", unit.Percent(waits)),
			Evidence:        seen(p, metric.WorkerFileLock, metric.WorkerBusy, metric.HDF5Opens, metric.StorageNet),
			Recommendations: []report.Recommendation{rec},
			WontHelp:        []string{"more workers: they wait for the same lock"},
		})
		return nil
	},
}
