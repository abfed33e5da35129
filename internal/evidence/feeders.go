package evidence

import (
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// Fed is who feeds a trainer that has no DataLoader workers. They stand where workers do: num_workers is their count,
// and worker_… are theirs.
type Fed struct {
	Threads bool   // threads of the trainer's own, else processes
	Name    string // of one of them, as the kernel has it
}

// handingOver are the states of a feeder that waits for work, to hand over, for a lock, or by a timer. A thread that
// waits for the interpreter's lock is in one of them too.
var handingOver = []metric.Desc{metric.ThreadQueuePoll, metric.ThreadFutexTimed, metric.ThreadFutex,
	metric.ThreadPipeRead, metric.ThreadPipeWrite, metric.ThreadSleep}

// feed finds who feeds a trainer without workers. A process that the trainer started feeds it where it is at work; a
// thread only where it works mostly while the main thread does not run, for else it is a part of the step, as the
// threads of a mathematical library are. Batches may pass through both, as where a thread unpickles what a pool made:
// those that are busier limit the others, and stand for all.
func (b *builder) feed(r *rank) {
	var stages [2][]*watched.Process
	var busy [2]float64
	for _, a := range b.Processes.Feeders {
		samples := stat.Sum(b.Grow(a.Entity, metric.ThreadSamples))
		grown := func(d metric.Desc) float64 { return stat.Sum(b.Grow(a.Entity, d)) }
		work := samples - stat.Sum(b.Grow(a.Entity, handingOver...)) - grown(metric.ThreadStopped) -
			watched.IdleOnline(grown)
		switch {
		case a.Trainer != r.Entity || samples == 0 || work < watched.LeastFeeding*samples:
		case !a.Thread:
			stages[0], busy[0] = append(stages[0], a), busy[0]+work/samples
		case stat.Sum(b.Grow(a.Entity, metric.FeederAtWork)) >= work/2:
			a.Died = min(a.Died, b.Track(metric.ThreadSamples, a.Entity).Last()) // no event reports a thread's end
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

// Loader returns the entity under which the trainer and those that make its batches are sampled together.
func (r *rank) Loader() string {
	if r.fed != nil {
		return "feeders/" + strings.TrimPrefix(r.Entity, "process/")
	}
	return r.Process.Loader()
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
	idle, alive := b.Grow(r.Loader(), metric.LoaderWaitIdle), b.Grow(r.Loader(), metric.LoaderWaitAlive)
	return b.ratio(stat.Minus(alive, idle), b.Grow(r.Loader(), metric.LoaderWaiting))
}

// Who of those that could load data gets any: trainers of a distributed training, and workers of one trainer.

// leastFed is the share of the busiest trainer's batches below which another one does not go over its loader. Ranks
// step together, and each takes as many; one that never asks has those only that its workers prefetch at the beginning
// of an epoch.
const leastFed = 0.1

// feedingRanks is how many trainers of a distributed training take batches of their own; none where that is not known
// of each.
func (b *builder) feedingRanks() figure {
	if len(b.ranks) < 2 {
		return figure{}
	}
	most, n, names := 0.0, 0.0, map[string]bool{}
	for _, r := range b.ranks {
		most, names[r.Rank] = max(most, stat.Sum(r.batches)), true
	}
	switch {
	case most <= 0:
		return none("no batch was seen to pass in any trainer", "")
	case len(names) < len(b.ranks):
		return none("trainers have the same RANK, or none, in their environment: whether they are one training is "+
			"not known", "")
	}
	for _, r := range b.ranks {
		switch {
		case r.Rank == "":
			return none("a trainer has no RANK in its environment: whether they are one training is not known", "")
		case stat.Sum(r.batches) >= leastFed*most:
			n++
		case r.fed != nil || !r.noLoader && b.idleShare(r.workerSet) < 1-watched.LeastFeeding:
			return none("whether each trainer takes batches of its own is not known", "")
		}
	}
	return exact(n)
}

// idleShare is the share of samples that found loader workers without work; 0 where there are none.
func (b *builder) idleShare(workerSet []*watched.Process) float64 {
	return stat.Over(stat.Sum(b.totals(workerSet, metric.ThreadQueuePoll)),
		stat.Sum(b.totals(workerSet, metric.ThreadSamples)))
}

// batchesEach is how many batches must have passed for each worker: DataLoader asks all in turn, and in twice as many
// each is asked again.
const batchesEach = 2

// withData is how many workers of the leading trainer have data to read. One of an IterableDataset that came to its end
// is not asked again in the epoch; with persistent_workers it stays, idle, and else it ends and is not seen.
func (b *builder) withData(r *rank) figure {
	n := len(r.workerSet)
	if r.hook != nil && r.hook.Training.Call.NumWorkers != nil && r.hook.Training.Call.Shards != nil {
		return exact(float64(min(*r.hook.Training.Call.NumWorkers, *r.hook.Training.Call.Shards)))
	}
	switch {
	case r.fed != nil || n < 2 || len(r.starts) > 0:
		return none("workers were started in the window, or there are not several", "")
	case stat.Sum(r.batches) < float64(batchesEach*n):
		return none("too few batches passed for each worker to be asked again", "")
	}
	return exact(float64(n - b.standsBy(r))).by(metric.Inferred)
}
