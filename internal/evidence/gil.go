package evidence

import (
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

// gil is the share of time in which a trainer's main thread waits for Python's global lock, not receiving a tensor.
func (b *builder) gil(r *rank) step.Range {
	return b.trainingMean(r, r.ofSamples(b.Grow(r.Entity, metric.ThreadGIL)))
}

// gilWait is how long it waits for that lock in all.
func (b *builder) gilWait(r *rank) figure {
	if b.Track(metric.ThreadGIL, r.Entity) == nil {
		return none("which lock the main thread waits for was not seen", "")
	}
	return b.ratio(b.Grow(r.Entity, metric.ThreadGIL, metric.ThreadGILReceiving), r.samples)
}

// gilUntold is how much of gil is in next() and is not seen to be. Who takes batches from a worker lets the lock go and
// wants it back a few times beside receiving each tensor: half of it is a guess as good as any (two jobs: 36 to 67 %).
// Who takes them from a queue of its own process lets it go for nothing.
func (b *builder) gilUntold(r *rank) step.Range {
	if r.hook != nil || r.noLoader {
		return step.Range{}
	}
	g := b.gil(r)
	if _, inside := b.loadersRun(r); inside {
		return step.Range{Hi: g.Hi}
	}
	return step.Range{Likely: g.Likely / 2, Hi: g.Hi}
}

// gilOfLoading is how much of gil, beside what is untold, threads that load may be the reason of: no more than they
// run, and if others hold the lock, none.
func (b *builder) gilOfLoading(r *rank) step.Range {
	run, inside := b.loadersRun(r)
	g, untold := b.gil(r), b.gilUntold(r)
	if h := r.hook; h != nil && h.Training.LoadsItself() && h.OffMain() > mostlyOffMain { // a thread makes the batches
		return step.Range{Likely: g.Likely, Hi: g.Hi}
	}
	if !inside {
		return step.Range{}
	}
	return step.Range{Likely: max(min(g.Likely, run)-untold.Likely, 0), Hi: max(min(g.Hi, run)-untold.Hi, 0)}
}

// loadersRun is the share of time in which threads of the trainer's own process that load run: PyTorch's, which pins
// batches, one that takes them, or those of a pool; false where there are none.
func (b *builder) loadersRun(r *rank) (share float64, inside bool) {
	threads := []string{r.Pin(), r.Taker()}
	if r.fed != nil && r.fed.Threads {
		for _, w := range r.workerSet {
			threads = append(threads, w.Entity)
		}
	}
	for _, t := range threads {
		if seen := b.Grow(t, metric.ThreadSamples); stat.Sum(seen) > 0 {
			share += stat.Over(stat.Sum(b.Grow(t, metric.ThreadRunning)), stat.Sum(r.samples))
			inside = true
		}
	}
	return share, inside || b.pinned(r)
}
