package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var loaderWorkersShareALock = diagnose.Rule{
	ID:       "loader/workers-share-a-lock",
	Title:    "Workers wait for a lock that they share",
	Resource: report.Lock,
	Needs:    []metric.Desc{metric.NumWorkers, metric.InputWait, metric.WorkerBusy, metric.WorkerLock},
	Limits:   limits(gainLimit),
	Applies:  withWorkers,
	Explains: []string{"loader/workers-too-few"},
	Eval: func(p *diagnose.Pass) {
		loader, ok := p.Loader()
		if !ok || loader.Lock.N == 0 {
			return
		}
		part := locked(p)
		effect := loader.Unlocked()
		if starved(p)*part < diagnose.Moderate.Value || gain(effect) < p.Limit(gainLimit) {
			return
		}
		p.Report(report.Finding{
			Score: starved(p) * part,
			Summary: fmt.Sprintf("Workers wait %s of their time at work for %s that another holds%s",
				unit.Percent(part), lockOf(p), inTurns(p, loader)),
			Evidence: seen(p, metric.WorkerLock, metric.WorkerSharedLock, metric.WorkerFileLock, metric.WorkerBusy,
				metric.NumWorkers, metric.WorkerCPUBatch, metric.WorkerWaitBatch),
			Recommendations: []report.Recommendation{{
				Setting: "what workers lock",
				To:      "a reader or file of its own for each worker, opened there, or locked for less",
				Why: "they then make batches side by side; without waiting for the lock a batch takes a worker " +
					alone(loader),
				Caveat: "as far as what is locked can be done by several at once: a lock may be there because it " +
					"cannot",
				Effect: effect,
			}},
			Unhelpful: append(inVain(loader), tooSlowly(p)...),
		})
	},
}

// locked is the share of their time at work that workers wait for a lock that they share.
func locked(p *diagnose.Pass) float64 {
	waits, _ := diagnose.SharedLock(p.Evidence)
	return share(waits.Center / p.Get(metric.WorkerBusy))
}

// lockOf says what kind of lock most of their waits are for.
func lockOf(p *diagnose.Pass) string {
	if diagnose.OfFiles(p.Evidence) {
		return "a file lock (flock, fcntl)"
	}
	return "a lock"
}

// inTurns says what of a batch workers make one at a time, and what that comes to however many there are.
func inTurns(p *diagnose.Pass, l *diagnose.Loader) string {
	if l.Metric == diagnose.Relative {
		return ""
	}
	ranks := 1.0 // a lock of memory is of one trainer's workers
	if diagnose.OfFiles(p.Evidence) {
		ranks = loaders(p)
	}
	return fmt.Sprintf(": what is locked likely takes %s of a batch (%s at the least), one worker at a time, which "+
		"allows about %s batches/s, however many workers there are", unit.Seconds(l.Lock.Center/ranks),
		unit.Seconds(l.Lock.Lo/ranks), unit.Number(ranks/l.Lock.Center))
}

// alone says how long a worker makes a batch where none holds it up.
func alone(l *diagnose.Loader) string {
	work := l.Seen.Making()
	if l.Metric == diagnose.Relative {
		return unit.Number(work/l.Seen.FreeStep.Center) + " times as long as the step without waiting"
	}
	return unit.Seconds(work)
}

// inVain speaks against more workers where the model says that they bring nothing.
func inVain(l *diagnose.Loader) []report.Unhelpful {
	if need, ok := l.WorkersNeeded(false); !ok || need.Workers > l.Setting.Workers {
		return nil
	}
	return against("more workers: they wait for the same lock, and longer the more there are", moreWorkers)
}
