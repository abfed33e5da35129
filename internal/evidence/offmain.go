package evidence

import (
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

// mostlyOffMain is the share of a loop's steps beyond which another thread than the main one takes its batches: a
// prefetcher, or one that trains.
const mostlyOffMain = 0.5

// offMain is the share of the training loop's steps in the window that another thread than the main one took.
func (h *hooked) offMain() float64 {
	return orNothing(divide(sum(h.training.of(metric.HookOffMain)), sum(h.training.of(metric.HookSteps))))
}

// TakenOffMain and SeemsOffMain say why the wait of a step is unknown where another thread takes the batches: as the
// hook reported, and as it looks from outside.
const (
	TakenOffMain = "batches are taken by another thread than the main one (a prefetcher): how long that thread waits " +
		"is not what a step waits"
	SeemsOffMain = "the workers are never idle, and yet the main thread does not wait for them: another thread seems " +
		"to take the batches (a prefetcher), and how long a step waits for that one is unknown"
)

// OthersAtWork says why the wait of a step is unknown where a trainer has no workers, and others of the job are at work
// while its main thread sleeps.
const OthersAtWork = "while the trainer's main thread sleeps, other threads or processes of the job use a CPU: they " +
	"may load data (a prefetcher, a pool of processes) or train (a backward pass), which cannot be distinguished " +
	"from outside"

const inMainThread = "for one watch, let the main thread take the batches"

// What makes a loader look as if another thread took its batches. A main thread that takes them itself either waits for
// workers that are always at work, or has them idle once the queue is full; in between lies only a loader that is as
// fast as the step to within these shares.
const (
	// of the workers' time: a faster step would bring at most 1/0.95 of the rate. The line from which a wait counts (5
	// %) from the other side
	alwaysAtWork = 0.95
	hardlyWaits  = 0.05 // of the trainer's time: the same line
	// of the trainer's time, in sleep that neither a batch nor a GPU explains: the line from which a wait is high
	asleepApart = 0.20
	// CPUs that others of the job than the main thread use, which may be as much of a wait: the same line
	othersBusy = 0.20
)

// working are the states of a worker that makes a batch, and is not waiting for something that its trainer may hold.
var working = []metric.Desc{metric.WorkerRunning, metric.WorkerStorage, metric.WorkerOpenWait}

// ofSteps are the signals that tell how a step divides, or what the main thread waits for.
var ofSteps = []metric.Desc{metric.InputWait, metric.InWorkerless, metric.DataStall, metric.Headroom,
	metric.FreeStepTime, metric.HostTime, metric.DeviceTime, metric.EpochGap,
	metric.Starved, metric.HeadOfLine, metric.LoaderIsAhead, metric.IdleWhileWaits}

// checkOffMain leaves out how a step divides where another thread takes the batches, as the hook reported, or where
// that must be so, or may be, by what was seen from outside.
func (b *builder) checkOffMain(r *rank) {
	switch {
	case r.hook != nil:
		if r.hook.offMain() > mostlyOffMain && r.wait.N == 0 {
			b.withholdSteps(TakenOffMain, inMainThread)
		}
	case sum(r.samples) == 0:
	case r.noLoader && b.mayLoadElsewhere(r):
		b.withholdSteps(OthersAtWork, b.fromInside())
	case r.noLoader:
		b.miss(reason{"the trainer has no workers (num_workers=0): it loads between its steps, and a load looks like " +
			"any other work", b.fromInside()}, metric.InputWait)
	case b.seemsOffMain():
		b.withholdSteps(SeemsOffMain, inMainThread)
		b.ev.Ranks[0].InputWait = nil
	}
}

// noLongerThanWork bounds how long a step waits whose batches another thread takes: while it does, a worker makes one,
// or that thread works on one. Of those that are busy for more of the time than a high wait is, nothing follows.
func (b *builder) noLongerThanWork(r *rank) stat.Summary {
	workers := r.hook.training.call.NumWorkers
	if !r.hook.training.hasWorkers() || workers == nil || len(r.workerSet) == 0 {
		return stat.Summary{}
	}
	main, seen := b.h.of(metric.ProcMainCPU, r.entity).grow(b.spans)
	all, alive := b.h.of(metric.ProcCPU, r.entity).grow(b.spans)
	threads := max(divide(sum(all), sum(alive))-divide(sum(main), sum(seen)), 0)
	most := float64(*workers)*(1-b.idleShare(r.workerSet)) + threads
	if !(most <= asleepApart) {
		return stat.Summary{}
	}
	return summaryOf(step.Share(0, most/2, most), len(b.spans))
}

// seemsOffMain reports whether the workers are never idle and the main thread does not wait for them either.
func (b *builder) seemsOffMain() bool {
	wait, ok := b.center(metric.InputWait)
	atWork := 0.0
	for _, d := range working {
		share, _ := b.center(d)
		atWork += share
	}
	return ok && wait < hardlyWaits && atWork >= alwaysAtWork && b.unexplained(wait) >= asleepApart
}

// mayLoadElsewhere reports whether a trainer without workers may load in a thread of its own, or in processes that are
// no DataLoader's.
func (b *builder) mayLoadElsewhere(r *rank) bool {
	loads, _ := b.center(metric.InWorkerless)
	main, seen := b.h.of(metric.ProcMainCPU, r.entity).grow(b.spans)
	job, _ := b.center(metric.JobCPU)
	others := job/float64(len(b.ranks)) - divide(sum(main), sum(seen))
	return loads < hardlyWaits && others >= othersBusy && b.unexplained(loads) >= asleepApart
}

// fromInside is the cure for what only the hook could tell; "" for a job that pipetune has launched: no DataLoader
// reported of itself there, and inside there is nothing more to see.
func (b *builder) fromInside() string {
	if b.rec.Header.Mode == "launch" {
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
		b.ev.row(d).Value, b.ev.row(d).windows = Value{}, nil
	}
	b.miss(reason{text, cure}, ofSteps...)
}
