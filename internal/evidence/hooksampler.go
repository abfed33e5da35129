package evidence

import (
	"math"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// drawing is how long the trainer drew the indices with which an epoch began, in seconds; false where that is not told
// apart from starting workers. Without workers they are drawn within the wait for the first batch as well, which takes
// making besides.
func (e *reportedEpoch) drawing(making float64) (float64, bool) {
	switch {
	case making > 0:
		return orZero(e.Draw) + max(orZero(e.FirstWait)-making, 0), e.FirstWait != nil
	case e.Draw != nil:
		return *e.Draw, true
	}
	return e.Create, e.WorkersBorn == 0
}

// makesAlone is how long a trainer without workers makes a batch of a dataset that is asked for items by their index;
// 0 of any other.
func (h *hooked) makesAlone() float64 {
	l := h.training
	if !l.loadsItself() || l.call.Iterable {
		return 0
	}
	return orNothing(divide(sum(l.made(metric.HookFetchTime)), sum(l.made(metric.HookFetches))))
}

// sampler takes what the sampler of the training loop costs the trainer at the beginnings of epochs.
func (b *builder) sampler(r *rank) {
	var spent, each figure
	if h := r.hook; h != nil && (h.training.hasWorkers() || h.makesAlone() > 0) {
		lost, took := b.drawn(h)
		spent, each = ratio(lost, h.trained()), median(took)
	}
	b.take(metric.SamplerTime, spent, metric.HookCreate)
	b.take(metric.SamplerStart, each, metric.HookCreate)
}

// drawn is the time in which a training loop's sampler began, of each window, and of each epoch that began in them; the
// very first one is left out. What the hook counted up to the end of the watch is taken by the part that drawing has in
// the epochs it told one by one.
func (b *builder) drawn(h *hooked) (lost, took []float64) {
	making, from := h.makesAlone(), b.firstBatchReported(h)
	drew, of := 0.0, 0.0
	for i, e := range h.epochs {
		each, ok := e.drawing(making)
		if !ok || i == 0 || e.Begun < from || e.Begun >= b.steady.to {
			continue
		}
		each += orZero(e.Redraw)
		drew += each
		of += e.Create
		if making > 0 {
			of += orZero(e.FirstWait)
		}
		if e.Begun >= b.steady.from {
			took = append(took, each)
		}
	}
	spans := intersect(b.spans, span{from, math.Inf(1)})
	counted := h.training.within(spans, metric.HookCreate, h.clock.retime)
	if making > 0 {
		counted = summed(counted, h.training.within(spans, metric.HookFirstWait, h.clock.retime))
	}
	return times(counted, stat.Share(divide(drew, of))), took
}
