package evidence

import (
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
)

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
		most, names[r.Rank] = max(most, sum(r.batches)), true
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
		case sum(r.batches) >= leastFed*most:
			n++
		case r.fed != nil || !r.noLoader && b.idleShare(r.workerSet) < 1-leastFeeding:
			return none("whether each trainer takes batches of its own is not known", "")
		}
	}
	return exact(n)
}

// idleShare is the share of samples that found loader workers without work; 0 where there are none.
func (b *builder) idleShare(workerSet []*process) float64 {
	return orNothing(divide(sum(b.totals(workerSet, metric.ThreadQueuePoll)),
		sum(b.totals(workerSet, metric.ThreadSamples))))
}

// batchesEach is how many batches must have passed for each worker: DataLoader asks all in turn, and in twice as many
// each is asked again.
const batchesEach = 2

// withData is how many workers of the leading trainer have data to read. One of an IterableDataset that came to its end
// is not asked again in the epoch; with persistent_workers it stays, idle, and else it ends and is not seen.
func (b *builder) withData(r *rank) figure {
	n := len(r.workerSet)
	if r.hook != nil && r.hook.training.call.NumWorkers != nil && r.hook.training.call.Shards != nil {
		return exact(float64(min(*r.hook.training.call.NumWorkers, *r.hook.training.call.Shards)))
	}
	switch {
	case r.fed != nil || n < 2 || len(r.starts) > 0:
		return none("workers were started in the window, or there are not several", "")
	case sum(r.batches) < float64(batchesEach*n):
		return none("too few batches passed for each worker to be asked again", "")
	}
	at := slices.DeleteFunc(slices.Clone(r.workerSet), func(w *process) bool {
		return b.idleShare([]*process{w}) >= standbyIdle
	})
	if b.idleShare(at) > 1-leastFeeding { // those hardly work either
		return exact(float64(n)).by(metric.Inferred)
	}
	return positive(float64(len(at))).by(metric.Inferred)
}
