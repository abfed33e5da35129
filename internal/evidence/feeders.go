package evidence

import (
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
)

// Fed is who feeds a trainer that has no DataLoader workers. They stand where workers do: num_workers is their count,
// and worker_… are theirs.
type Fed struct {
	Threads bool   // threads of the trainer's own, else processes
	Name    string // of one of them, as the kernel has it
}

// leastFeeding is the share of its time from which on a thread or process counts as at work for its trainer: the line
// from which a wait counts.
const leastFeeding = 0.05

// handingOver are the states of a feeder that waits for work, to hand over, for a lock, or by a timer. A thread that
// waits for the interpreter's lock is in one of them too.
var handingOver = []metric.Desc{metric.ThreadQueuePoll, metric.ThreadFutexTimed, metric.ThreadFutex,
	metric.ThreadPipeRead, metric.ThreadPipeWrite, metric.ThreadSleep}

// feed finds who feeds a trainer without workers. A process that the trainer started feeds it where it is at work; a
// thread only where it works mostly while the main thread does not run, for else it is a part of the step, as the
// threads of a mathematical library are. Batches may pass through both, as where a thread unpickles what a pool made:
// those that are busier limit the others, and stand for all.
func (b *builder) feed(r *rank) {
	var stages [2][]*process
	var busy [2]float64
	for _, a := range b.processes.feeders {
		samples := sum(b.grow(a.entity, metric.ThreadSamples))
		work := samples - sum(b.grow(a.entity, handingOver...)) - sum(b.grow(a.entity, metric.ThreadStopped)) -
			idleOnline(func(d metric.Desc) float64 { return sum(b.grow(a.entity, d)) })
		switch {
		case a.Trainer != r.entity || samples == 0 || work < leastFeeding*samples:
		case !a.thread:
			stages[0], busy[0] = append(stages[0], a), busy[0]+work/samples
		case sum(b.grow(a.entity, metric.FeederAtWork)) >= work/2:
			a.died = min(a.died, b.h.of(metric.ThreadSamples, a.entity).last()) // no event reports a thread's end
			stages[1], busy[1] = append(stages[1], a), busy[1]+work/samples
		}
	}
	for i, stage := range stages {
		if n := len(stage); n > 0 && (r.fed == nil || busy[i]/float64(n) > busy[0]/float64(len(stages[0]))) {
			r.workerSet, r.noLoader = stage, false
			r.fed = &Fed{Threads: i == 1, Name: stage[0].Comm}
		}
	}
}

// idleOnline is how long a feeder waits on TCP connections where that is no work for its trainer, as of a helper that
// polls a server or blocks on a queue there: it does next to nothing with what comes.
func idleOnline(grown func(metric.Desc) float64) float64 {
	if grown(metric.ThreadRunning) >= leastFeeding*grown(metric.ThreadSamples) {
		return 0
	}
	return grown(metric.ThreadRemote)
}

// loader returns the entity under which the trainer and those that make its batches are sampled together.
func (r *rank) loader() string {
	if r.fed != nil {
		return "feeders/" + strings.TrimPrefix(r.entity, "process/")
	}
	return r.process.loader()
}

// idleStates are those in which who makes batches has nothing to do.
func (r *rank) idleStates() []metric.Desc {
	if r.fed != nil {
		return handingOver
	}
	return []metric.Desc{metric.ThreadQueuePoll}
}

// busyStates leaves out of some states those that are idle ones here.
func (r *rank) busyStates(states ...metric.Desc) []metric.Desc {
	return slices.DeleteFunc(slices.Clone(states), func(d metric.Desc) bool {
		return slices.Contains(r.idleStates(), d)
	})
}

// cpu is the counter of the CPU time of those that make batches.
func (r *rank) cpu() metric.Desc {
	if r.fed != nil && r.fed.Threads {
		return metric.ProcMainCPU
	}
	return metric.ProcCPU
}

// feedersAtOnce is how many feeders are at work at once while the trainer waits.
func (b *builder) feedersAtOnce(r *rank) figure {
	if r.fed == nil {
		return figure{}
	}
	idle, alive := b.grow(r.loader(), metric.LoaderWaitIdle), b.grow(r.loader(), metric.LoaderWaitAlive)
	working := each(len(idle), func(i int) float64 { return alive[i] - idle[i] })
	return ratio(working, b.grow(r.loader(), metric.LoaderWaiting))
}
