package evidence

import (
	"math"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

// mostlyOffMain is the share of a loop's steps beyond which another thread than the main one takes its batches: a
// prefetcher, or one that trains.
const mostlyOffMain = 0.5

// TakenOffMain, SeemsOffMain and MayBeOffMain say why the wait of a step is unknown where another thread takes the
// batches: as the hook reported, and as it looks from outside, where the main thread would read them and where
// PyTorch's thread does.
const (
	MayBeOffMain = "the main thread sleeps in locks, and not in that of next(), while the workers set the pace: " +
		"another thread may take the batches (a prefetcher), and how long a step waits for that one is unknown"
	TakenOffMain = "batches are taken by another thread than the main one (a prefetcher): how long that thread waits " +
		"is not what a step waits"
	SeemsOffMain = "the main thread reads none of the batches, and sleeps in locks: another thread takes them (a " +
		"prefetcher), and how long a step waits for that one is unknown"
)

// OthersAtWork says why the wait of a step is unknown where a trainer has no workers, and others of the job are at work
// while its main thread sleeps.
const OthersAtWork = "while the trainer's main thread sleeps, other threads or processes of the job use a CPU: they " +
	"may load data (a prefetcher, a pool of processes) or train (a backward pass), which cannot be distinguished " +
	"from outside"

const inMainThread = "for one watch, let the main thread take the batches"

// The lines from which a wait, and what may be as much of one, counts.
const (
	hardlyWaits = 0.05 // of the trainer's time
	asleepApart = 0.20 // of its time, in sleep of which it is not known what for: the line from which a wait is high
	othersBusy  = 0.20 // CPUs that others of the job than the main thread use: the same line
)

// ofSteps are the signals that tell how a step divides, or what the main thread waits for.
var ofSteps = []metric.Desc{metric.InputWait, metric.InWorkerless, metric.DataStall, metric.Headroom,
	metric.FreeStepTime, metric.HostTime, metric.DeviceTime, metric.EpochGap,
	metric.Starved, metric.HeadOfLine, metric.LoaderIsAhead, metric.IdleWhileWaits}

// checkOffMain leaves out how a step divides where another thread takes the batches, as the hook reported, or where
// that must be so, or may be, by what was seen from outside.
func (b *builder) checkOffMain(r *rank) {
	switch {
	case r.offMain != "":
		b.withholdSteps(r.offMain, inMainThread)
		b.ev.Ranks[0].InputWait = nil
	case r.hook != nil, stat.Sum(r.samples) == 0:
	case r.noLoader && b.mayLoadElsewhere(r):
		b.withholdSteps(OthersAtWork, b.fromInside())
	case r.noLoader:
		b.miss(Reason{"the trainer has no workers (num_workers=0): it loads between its steps, and a load looks like " +
			"any other work", b.fromInside()}, metric.InputWait)
	}
}

// leastTaken is what the main thread reads of each batch at the least where it takes them, in bytes. In the recordings
// of testdata that is 439 or more, and 45 or fewer where another thread takes them.
const leastTaken = 100

// takesNone reports whether the main thread takes no batches: another thread was seen to do it instead, or it reads
// none. Where PyTorch's own thread pins them it would read none either way; but who takes them from that one waits in
// timed locks where the workers set the pace.
func (b *builder) takesNone(r *rank, seen step.Seen) bool {
	switch {
	case stat.Sum(b.Grow(r.Taker(), metric.ThreadSamples)) > 0:
		return true
	case !b.pinned(r):
		return b.readsNone(r)
	}
	waits := stat.Over(stat.Sum(r.waiting), stat.Sum(r.joint))
	return len(r.workerSet) > 0 && waits < hardlyWaits && b.allAtWork(r) >= setsThePace &&
		b.locked(r).Likely-b.explained(r, seen).Likely > asleepApart
}

// readsNone reports whether batches pass and the main thread reads none of them, which no thread of the job's own was
// seen to do for it.
func (b *builder) readsNone(r *rank) bool {
	read, seen := b.Track(metric.ProcMainReadChars, r.Entity).Grow(b.Spans)
	return stat.Sum(r.batches) > 0 && stat.Sum(seen) > 0 && stat.Sum(read) < leastTaken*stat.Sum(r.batches) &&
		stat.Sum(b.Grow(r.Taker(), metric.ThreadSamples)) == 0
}

// setsThePace is from which share of the workers' time at work they set the pace: the line from which a wait counts (5
// %) from the other side.
const setsThePace = 0.95

// allAtWork is the share of their time that the workers of a trainer are at work.
func (b *builder) allAtWork(r *rank) float64 { return 1 - b.idleShare(r.workerSet) }

// locked is the share of time in which a trainer's main thread sleeps in locks, and not for its backward pass.
func (b *builder) locked(r *rank) step.Range {
	locked := b.Grow(r.Entity, metric.ThreadFutex, metric.ThreadFutexTimed)
	if b.Track(metric.ThreadHostRunning, r.Entity) != nil {
		own, all := b.Grow(r.Entity, metric.ThreadRunning, metric.ThreadGIL), b.Grow(r.Entity, metric.ThreadHostRunning)
		locked = stat.Beyond(locked, stat.Beyond(all, own))
	}
	return b.trainingMean(r, r.ofSamples(locked))
}

// explained is the share of time in which a main thread sleeps in a lock for its device, that is at work then: all the
// device's work that is not beside the main thread's own, nor while it sleeps elsewhere, and most likely no more.
func (b *builder) explained(r *rank, seen step.Seen) step.Range {
	elsewhere := b.trainingMean(r, r.ofSamples(b.Grow(r.Entity, metric.ThreadSleep, metric.ThreadOther))).Likely
	works := seen.Busy.Likely + seen.Copy.Likely - seen.OnDevice.Likely - elsewhere
	least := max(works-seen.Running.Likely, 0)
	return step.Share(least, least, max(works-seen.Spin.Likely, least))
}

// mostlyFollowed is from which share of the time on a thread that takes batches was followed long enough for what was
// sampled of it to stand for all of it.
const mostlyFollowed = 0.5

// waitForTaker takes how long a step waits whose batches another thread takes. The main thread waits for that one in a
// lock, beside those that its device explains, and only while that one waits itself: of two shares of the same time,
// at least their sum beyond 1, and at most the smaller; the more so, the longer that one waits. The hook times it; else
// workers tell: it waits while they are at work, and does nothing else while they set the pace. What was sampled of
// both threads at once tells most, if that was for most of the time. Else, where no device is seen, a main thread that
// sleeps in locks for more than a high wait tells nothing.
func (b *builder) waitForTaker(r *rank, seen step.Seen, why string) {
	r.basis, b.ev.Facts.Taken = metric.Inferred, true
	locked, device := b.locked(r), b.explained(r, seen)
	var taker step.Range
	switch atWork := b.allAtWork(r); {
	case r.hook != nil:
		taker = rangeOf(stat.Clamped(b.Quotient(r.waited, r.watched), 0, 1))
	case len(r.workerSet) > 0 && atWork >= setsThePace: // whoever takes the batches may train, too
		taker = step.Share(atWork-b.othersOf(r), atWork, 1)
	default:
		taker = step.Share(0, atWork, 1)
	}
	sleeps := max(locked.Likely-device.Likely, 0)
	near, far := min(sleeps, taker.Likely), max(sleeps+taker.Likely-1, 0)
	wait := step.Share(locked.Lo-device.Hi+taker.Lo-1, far+(near-far)*taker.Likely, min(locked.Hi, taker.Hi))
	r.waited, r.watched = nil, nil
	followed := b.Grow(r.Taker(), metric.ThreadSamples)
	switch {
	case stat.Sum(followed) > mostlyFollowed*stat.Sum(r.joint): // while it is not, nothing is known
		r.watched = stat.Lesser(followed, r.joint)
		r.waited = stat.Lesser(r.waiting, r.watched)
		r.wait = stat.Clamped(b.Quotient(r.waited, r.watched), 0, 1)
		lazy := b.Grow(r.Taker(), metric.ThreadFutex, metric.ThreadFutexTimed) // the queue is full
		b.inLocks(r, seen, 1-stat.Over(stat.Sum(lazy), stat.Sum(followed)))
	case locked.Hi > asleepApart && seen.Device != step.Counted:
		r.offMain, r.wait = why, stat.Summary{}
	default:
		r.wait = b.summaryOf(wait)
	}
}

// inLocks takes from the wait of a trainer, whose main thread waits in locks for those who feed it, what it sleeps in
// locks for its device: it was seen to wait while these are at work, which they are for atWork of the time. With w the
// wait and d what it sleeps for the device, they are at work for a part p of d, and beside a wait always:
//
//	seen = w + p d,  p = (atWork - w) / (1 - w) <= atWork
func (b *builder) inLocks(r *rank, seen step.Seen, atWork float64) {
	if seen.Device != step.Counted {
		return
	}
	device, waits := b.explained(r, seen), rangeOf(r.wait)
	if device.Hi == 0 {
		return
	}
	half := (1 - device.Likely + waits.Likely) / 2
	likely := half - math.Sqrt(max(half*half-waits.Likely+device.Likely*atWork, 0))
	r.wait = b.summaryOf(step.Share(waits.Lo-device.Hi*atWork, likely, waits.Hi))
	r.waited, r.watched = nil, nil
}

// othersOf is how many CPUs other threads of a trainer than its main one use.
func (b *builder) othersOf(r *rank) float64 {
	all, main := b.Grow(r.Entity, metric.ProcCPU), b.Grow(r.Entity, metric.ProcMainCPU)
	return max(stat.Over(stat.Sum(all)-stat.Sum(main), stat.Sum(b.Length)), 0)
}

// mayLoadElsewhere reports whether a trainer without workers may load in a thread of its own, or in processes that are
// no DataLoader's.
func (b *builder) mayLoadElsewhere(r *rank) bool {
	loads, _ := b.center(metric.InWorkerless)
	loads = max(loads-b.asleepByTimer(r, r.sight()).Likely, 0) // it may wait for the others there
	main, seen := b.Track(metric.ProcMainCPU, r.Entity).Grow(b.Spans)
	job, _ := b.center(metric.JobCPU)
	others := job/float64(len(b.ranks)) - stat.Divide(stat.Sum(main), stat.Sum(seen))
	return loads < hardlyWaits && others >= othersBusy && b.unexplained(loads) >= asleepApart
}

// fromInside is the cure for what only the hook could tell; "" for a job that pipetune has launched: no DataLoader
// reported of itself there, and inside there is nothing more to see.
func (b *builder) fromInside() string {
	if b.Rec.Header.Mode == "launch" {
		return ""
	}
	return "start the job with pipetune: pipetune diagnose -- COMMAND"
}

// unexplained is the share of time in which the main thread slept for neither a batch nor a GPU that was seen at work.
func (b *builder) unexplained(wait float64) float64 {
	host, _ := b.center(metric.HostTime)
	between, _ := b.center(metric.EpochGap)
	asleep := 1 - wait - host - between
	if device, ok := b.center(metric.DeviceTime); ok && b.top().busy != nil {
		asleep -= device
	}
	return asleep
}

// withholdSteps leaves out how a step divides. Counts and what batches cost to make stand.
func (b *builder) withholdSteps(text, cure string) {
	b.ev.Facts.OffMain = text
	for _, d := range ofSteps {
		b.ev.row(d).figure = figure{why: b.ev.row(d).why}
	}
	b.miss(Reason{text, cure}, ofSteps...)
}
