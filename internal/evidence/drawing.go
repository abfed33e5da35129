package evidence

import (
	"math"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

const (
	// switchInterval is how long Python's own code keeps the lock while another thread wants it
	// (sys.setswitchinterval).
	switchInterval = 5e-3 // s
	// listedEvery is how often what one of all workers holds is read, in turns.
	listedEvery = 0.25 // s
	// drawingDoubt is how many standard errors of such readings the time of drawing must lie above nothing.
	drawingDoubt = 3
)

// drawing is the share of time in which the trainer has taken a batch and its loader does not yet make another one: a
// sampler draws the next one's indices meanwhile, in the trainer's main thread. A loader that is ahead then holds one
// batch less than it can.
//
// Where an epoch ends each number of batches below that is held as long, and what fewer are held tells how much of one
// fewer is of that. A worker that makes a batch holds one less as well. And Python's own code of the step may keep the
// thread that sends the indices off the lock, up to the switch interval, so that drawing may be only what goes beyond;
// a single call that keeps the lock for longer looks the same.
func (b *builder) drawing(r *rank) step.Range {
	each := b.prefetch(r)
	per, known := b.TensorsPerBatch(r.Loader())
	taken := r.offMain != "" || stat.Sum(b.Grow(r.Taker(), metric.ThreadSamples)) > 0
	if r.hook != nil || r.fed != nil || each == nil || !known || taken || len(r.evaluating) > 0 ||
		b.byName(r) { // then a batch is held until the trainer drops it
		return step.Range{}
	}
	full := float64(*each) * b.numWorkers(r).Center
	readings := b.Track(metric.LoaderQueued, r.Loader()).Within(b.Steady)
	one, fewer, turns := 0.0, 0.0, 0.0
	for i, held := range readings {
		switch missing := full - held/per; {
		case missing >= 2:
			fewer++
		case missing >= 1:
			one++
		}
		if i > 0 && (held/per > full-1) != (readings[i-1]/per > full-1) {
			turns++
		}
	}
	n, all := float64(len(readings)), 0.0
	for _, other := range b.ranks {
		all += float64(len(other.workerSet))
	}
	independent := min(n, b.Steady.Length()/listedEvery/max(all, 1))
	busy := stat.Sum(b.Grow(r.Loader(), metric.LoaderAliveSum)) - stat.Sum(b.Grow(r.Loader(), metric.LoaderIdleSum))
	making := stat.Over(busy, stat.Sum(b.Grow(r.Loader(), metric.LoaderSamples)))
	part, less := one/n, (one+fewer)/n
	share, off := part-fewer/n/(full-1)-making, math.Sqrt(part*(1-part)/independent)
	// A worker of an IterableDataset that came to its end leaves one batch fewer as well, until the epoch ends; drawing
	// comes and goes with each step, so that one reading has nothing to do with the next: then 2 p (1-p) of them turn.
	lasts := turns < 1.5*part*(1-part)*independent
	if full < 2 || !(share > drawingDoubt*off) || lasts {
		return step.Range{}
	}
	runs := stat.Over(stat.Sum(b.Grow(r.Entity, metric.ThreadRunning)), stat.Sum(r.samples))
	unsent := switchInterval*r.rate.Center + r.delayed
	return step.Range{Likely: min(max(share-unsent, 0), runs), Hi: min(less+2*off, runs)}
}

// byName reports whether the tensors of a loader keep their names in shared memory, as with file_system.
func (b *builder) byName(r *rank) bool {
	named := b.Track(metric.LoaderNamed, r.Loader()).Within(b.Steady)
	return len(named) > 0 && named[len(named)-1] > 0
}
