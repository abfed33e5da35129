package evidence

import (
	"math"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

// switchInterval is how long a thread of Python that runs keeps the lock while others want it
// (sys.setswitchinterval).
const switchInterval = 5e-3 // s

// drawingDoubt is how many standard errors of readings the time of drawing must lie above nothing for it to be one.
const drawingDoubt = 3

// drawing is the share of time in which the trainer has taken a batch and its loader does not yet make another one: a
// sampler draws the next one's indices meanwhile, in the trainer's main thread. A loader that is ahead then holds one
// batch less than it can.
//
// Where an epoch ends fewer are asked for from one batch to the next, so that two fewer are as frequent as one fewer
// and are taken off. A worker that makes a batch holds one less as well. And Python's own code of the step may keep the
// thread that sends the indices off the lock, up to the switch interval: only what goes beyond that is drawing for
// sure.
func (b *builder) drawing(r *rank) step.Range {
	each := b.prefetch(r)
	per, known := b.TensorsPerBatch(r.Loader())
	if r.hook != nil || r.fed != nil || each == nil || !known {
		return step.Range{}
	}
	full := float64(*each) * b.numWorkers(r).Center
	readings := b.Track(metric.LoaderQueued, r.Loader()).Within(b.Steady)
	one, fewer, less := 0.0, 0.0, 0.0
	for _, held := range readings {
		switch missing := full - held/per; {
		case missing >= 2:
			fewer, less = fewer+1, less+missing
		case missing >= 1:
			one, less = one+1, less+missing
		}
	}
	n := float64(len(readings))
	busy := stat.Sum(b.Grow(r.Loader(), metric.LoaderAliveSum)) - stat.Sum(b.Grow(r.Loader(), metric.LoaderIdleSum))
	making := stat.Over(busy, stat.Sum(b.Grow(r.Loader(), metric.LoaderSamples)))
	share, off := (one-fewer)/n-making, math.Sqrt(one*(n-one)/n)/n
	if share <= drawingDoubt*off {
		return step.Range{}
	}
	runs := stat.Over(stat.Sum(b.Grow(r.Entity, metric.ThreadRunning)), stat.Sum(r.samples))
	unsent := switchInterval * r.rate.Center
	return step.Range{Lo: min(max(share-2*off-unsent, 0), runs), Likely: min(max(share-unsent, 0), runs),
		Hi: min(less/n-making+2*off, runs)}
}
