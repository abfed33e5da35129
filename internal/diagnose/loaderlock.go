package diagnose

import (
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// The share of their time at work that workers wait for locks from which on one that they share may hold them up: of
// waits for memory that processes share, of which jobs without such a lock have none, and of all waits for locks, which
// are 1.4 % at most in testdata/recordings but lock, where no workers share one. Two workers that held one for four
// fifths of the time, in step, waited 1.9 %; below that a counter that they share is as likely.
const (
	leastShared = 0.01
	leastLocked = 0.03
)

// SharedLock is the share of their time that workers wait for a lock that processes share, in memory or of a file; of
// all locks in memory, those among a worker's own threads too, where it does not show which: system calls may not be
// read, or an older recording. It is not known where own threads then take more.
func SharedLock(e *evidence.Evidence) (evidence.Value, bool) {
	v, ok := e.Get(metric.WorkerSharedLock)
	if !ok {
		v, ok = e.Get(metric.WorkerLock)
		ok = ok && v.Center >= orZero(e, metric.WorkerOwnThreads)
	}
	files := FileLock(e)
	switch {
	case files.Center <= 0:
		return v, ok
	case !ok:
		return files, true
	}
	v.Center, v.Lo, v.Hi = v.Center+files.Center, v.Lo+files.Lo, v.Hi+files.Hi
	return v, true
}

// OfFiles reports whether most of their waits for a lock that they share are for one of a file.
func OfFiles(e *evidence.Evidence) bool {
	all, _ := SharedLock(e)
	return 2*FileLock(e).Center > all.Center
}

// FileLock is the share of their time that workers wait for a file lock that another one holds. Where the dataset
// lies on a network file system the wait may be the server's answer, for which nobody waits the longer the more ask.
func FileLock(e *evidence.Evidence) evidence.Value {
	if v, ok := e.Get(metric.WorkerFileLock); ok && orZero(e, metric.StorageNet) < 1 {
		return v
	}
	return evidence.Value{}
}

// shareLock takes the part of a batch that workers make one at a time, because they share a lock, from how long they
// wait for it. What they wait is then no cost of a batch: how long that is follows from how many workers there are.
// rate is the batches per unit of time.
func (l *Loader) shareLock(e *evidence.Evidence, workers, rate float64) {
	waits, ok := SharedLock(e)
	busy, ok2 := e.Get(metric.WorkerBusy)
	atWork := busy.Center - orZero(e, metric.WorkerRunDelay)
	least := leastLocked
	if _, told := e.Get(metric.WorkerSharedLock); told {
		least = leastShared
	}
	if !ok || !ok2 || atWork <= 0 || waits.Center < least*atWork || rate <= 0 {
		return
	}
	// Where evaluations have workers too, what is seen of workers is of all time, and the rate of training alone.
	batch := l.Making()
	part := stat.Share(waits.Center / atWork)
	waiting := part * min(rate*batch, workers)
	sharers := l.Setting.Workers
	if OfFiles(e) { // ranks have the files in common, and each its part of the lock's time
		sharers *= l.Trainers()
		waiting *= float64(l.Trainers())
	}
	lo, likely, ok := predict.LockUse(waiting, waiting*waits.Lo/waits.Center, sharers)
	if !ok || l.Wait.Center <= 0 {
		return
	}
	l.Lock = stat.Summary{Center: likely / rate, Lo: lo / rate, Hi: 1 / rate, N: waits.N}
	l.Wait = l.Wait.Scaled(max(1-part*batch/l.Wait.Center, 0))
}

// Unlocked is the effect of workers that share no lock and make a batch in the time that it takes without waiting for
// one; nil where they share none, or it is unknown.
func (l *Loader) Unlocked() *report.Effect {
	if l.Lock.N == 0 {
		return nil
	}
	return l.With(predict.Remedy{Unlocked: true})
}
