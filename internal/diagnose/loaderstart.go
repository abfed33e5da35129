package diagnose

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
)

// epochs takes how long an epoch is and what beginning and ending one costs: as the hook reported it, or from the gap
// that was seen between the batches of two sets of workers.
func (l *Loader) epochs(e *evidence.Evidence, rate float64) {
	workers := float64(l.Setting.Workers)
	work := l.Making()
	cost := predict.StartCost{Trainer: forkCPU, End: joinTime}
	if !forks(e) {
		cost.Worker = importCPU
	}
	seen := false
	if h := e.Facts.Hook; h != nil {
		if h.Epoch.Batches.N > 0 {
			l.Epoch = int(math.Round(h.Epoch.Batches.Center))
		} else {
			l.Epoch = l.epochAhead(h.Loader)
		}
		if h.Epoch.Draw.N > 0 {
			l.Draw, l.Redraw = h.Epoch.Draw.Center*l.pace(1), h.Epoch.Redraw.Center*l.pace(1)
			if l.Setting.Persistent { // its workers stay, and what they take to go on is in it
				l.Resume = 0
			}
		}
		if h.Epoch.Create.N > 0 && workers > 0 {
			cost.Trainer, cost.End, seen = h.Epoch.Create.Center*l.pace(1)/workers,
				h.Epoch.Drain.Center*l.pace(workers), true
			if l.Setting.Persistent { // what ended its epochs did not end workers
				cost.End = joinTime
			}
			if l.lateStart(e, h.Epoch.First.Center) { // in the first batch of each worker, and mostly no computing
				cost.Trainer += max(h.Epoch.First.Center*l.pace(1)-work, 0) / workers
			} else {
				cost.Worker = max(h.Epoch.First.Center*l.pace(workers)-work, 0)
			}
		}
	} else if epoch, ok := e.Get(metric.EpochTime); ok && epoch.Center > 0 {
		l.Epoch = int(math.Round(epoch.Center * rate))
		if gap, ok := e.Get(metric.RestartGap); ok && workers > 0 {
			seen = true
			if forks(e) {
				start := workers * forkCPU / l.pace(1)
				if told, ok := e.Get(metric.RestartStart); ok && told.Center > 0 { // 0 is less than a clock tick
					start = told.Center
				}
				start = min(start, gap.Center)
				cost.Trainer = start * l.pace(1) / workers
				cost.Worker = l.firstBatches(max((gap.Center-start)*l.pace(workers)-cost.End, 0), workers)
			} else { // each imports torch, all at once
				cost = predict.StartCost{Worker: max(gap.Center*l.pace(workers)-work, 0)}
				l.withoutStart(cost.Worker * workers)
			}
		}
	}
	if !seen && l.Epoch > 0 {
		l.assumed = append(l.assumed, "what starting a worker costs")
	}
	l.Start = cost
}

// distributed is, beside evidence.InSequence and evidence.AtRandom, the sampler of which the number of items of an
// epoch follows from that of the dataset (torch/utils/data/sampler.py, distributed.py; 1.13 to 2.14).
const distributed = "torch.utils.data.distributed.DistributedSampler"

// epochAhead is how many batches an epoch will have, where none has ended yet; 0 where the sampler leaves that open:
// another one than PyTorch's own may take any number of items, and so may one that the script made with arguments of
// its own.
func (l *Loader) epochAhead(c evidence.LoaderCall) int {
	if c.Items == nil || c.BatchSize == nil || *c.BatchSize <= 0 || c.Iterable {
		return 0
	}
	items := *c.Items
	switch {
	case c.Sampler == evidence.InSequence,
		c.Sampler == evidence.AtRandom && !slices.Contains(c.Given, "sampler"):
		// its num_samples may be any
	case c.Sampler == distributed && l.ranks > 1: // one trainer here may be one of many elsewhere
		ranks := int(math.Round(l.ranks))
		items = (items + ranks - 1) / ranks
		l.assumed = append(l.assumed, "that all trainers of the job were watched")
	default:
		return 0
	}
	return (items + *c.BatchSize - 1) / *c.BatchSize
}

// slowStart is the part of the first wait of an epoch from which a batch counts as the first of its worker.
const slowStart = 0.5

// lateStart takes the first batches of workers out of the others, where a dataset opens or reads what it needs in its
// first item: as many batches as workers were started then take about as long as the first wait. It reports whether
// that is so.
func (l *Loader) lateStart(e *evidence.Evidence, first float64) bool {
	restarts, ok := e.Get(metric.Restarts)
	started := restarts.Center * float64(l.Setting.Workers)
	usual, ok2 := stat.ClassQuantile(e.Spread(metric.HookFetchSpread), 0.5)
	if !ok || !ok2 || started < 1 || usual >= slowStart*first {
		return false
	}
	slow, slowTime, all, allTime := 0.0, 0.0, 0.0, 0.0
	for _, c := range e.Spread(metric.HookFetchSpread) {
		took := c.At(0.5)
		if took >= slowStart*first {
			slow, slowTime = slow+c.Count, slowTime+c.Count*took
		} else {
			l.usual = append(l.usual, c)
		}
		all, allTime = all+c.Count, allTime+c.Count*took
	}
	if slow < started/2 || slow > 2*started || slow >= all || allTime <= slowTime {
		l.usual = nil
		return false
	}
	keep := (allTime - slowTime) / (all - slow) / (allTime / all)
	l.CPU, l.Wait = l.CPU.Scaled(keep), l.Wait.Scaled(keep)
	l.Kept = true // whether the trainer would pay for its first batch once, or each epoch, did not show
	return true
}

// firstBatches is how much longer the first batch of each worker takes than the others, of which a watch from outside
// saw the mean of all, and takes it out of that where it is long: a dataset opens or reads what it needs in its first
// item. Where all of them together would take less than these, the time is not the workers'.
func (l *Loader) firstBatches(first, workers float64) float64 {
	mean, part := l.Making(), workers/float64(max(l.Epoch, 1)) // of all batches
	longer := (first - mean) / (1 - part)
	if usual := mean - longer*part; part < mostFirst && longer > 0 && 0 < usual &&
		usual < slowStart*first {
		keep := max(usual/mean, leastCost)
		l.CPU, l.Wait, l.Kept = l.CPU.Scaled(keep), l.Wait.Scaled(keep), true
		return longer
	}
	return max(first-mean, 0)
}

// mostFirst is the part of all batches that may be the first of their workers for the others to be told apart: half.
const mostFirst = 0.5

// leastCost is the part of a batch's CPU time that is left to it when starting workers is taken off.
const leastCost = 0.1

// withoutStart takes the CPU time of starting workers off that of the batches of an epoch, over which it was divided.
func (l *Loader) withoutStart(cpu float64) {
	if l.Epoch > 0 && l.CPU.Center > 0 {
		l.CPU = l.CPU.Scaled(max(1-cpu/float64(l.Epoch)/l.CPU.Center, leastCost))
	}
}
