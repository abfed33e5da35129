package evidence

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence/hooked"
	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

// A step of training has no part of an evaluation, and shares of time that are sampled from outside have: they are of
// all time. What the hook times is of training already, as are waits and batches of a loader seen from outside, and the
// two meet in one model of the step.
//
// Of a share x of all time, of which training is T and evaluation the rest, training alone has
//
//	max(0, (x - (1-T)) / T) <= y <= min(1, x / T)
//
// whatever evaluations do. Windows hold more or less of them, and what they have falls or rises with it: where the line
// through them crosses no evaluation is y. Where windows are too much alike for that, y is likely x, and no more is
// known than the bounds.

// trainingMean is the mean over the windows of what they have of a share, of training alone.
func (b *builder) trainingMean(r *rank, shares []float64) step.Range {
	all := b.range_(shares)
	if r.evaluates() == 0 {
		return all
	}
	return b.trainingPart(r, step.Range{Lo: all.Likely, Likely: all.Likely, Hi: all.Likely}, shares)
}

// trainingPart is what training alone has of a share of all time, by what the windows have of it.
func (b *builder) trainingPart(r *rank, all step.Range, shares []float64) step.Range {
	e := r.evaluates()
	if e == 0 {
		return all
	}
	lo, hi := max(0, (all.Lo-e)/(1-e)), min(1, all.Hi/(1-e))
	mean, fit, side := b.withoutEvaluation(r, shares)
	faster := b.catchesUp(r)
	fit, side = fit*faster, side*faster
	if scale := fit / mean; stat.Finite(scale, side) && all.Hi*scale-all.Lo*scale+2*side < hi-lo {
		return step.Share(min(max(all.Lo*scale-side, lo), hi), min(max(all.Likely*scale, lo), hi),
			min(max(all.Hi*scale+side, lo), hi))
	}
	r.mixed = r.mixed || hi-lo > mostMixed
	return step.Share(lo, all.Likely, hi)
}

// whileTraining is the watch, and what it saw of a trainer, without the time in which that evaluated: workers of
// training that live on have nothing to do then, which says nothing of them. All of the watch where too little would be
// left.
func (b *builder) whileTraining(r *rank) (*builder, *rank) {
	if len(r.evaluating) == 0 || r.noLoader {
		return b, r
	}
	var spans []watched.Span
	for _, s := range b.Spans {
		spans = append(spans, slices.DeleteFunc(s.Without(r.evaluating), func(s watched.Span) bool {
			return s.Length() < leastPart
		})...)
	}
	if stat.Sum(watched.Lengths(spans)) < watched.LeastSteady || len(spans) < fewestWindows {
		return b, r
	}
	watch, own, of := *b.Watch, *r, *b
	watch.Spans, watch.Length = spans, watched.Lengths(spans)
	of.Watch, own.evaluated, own.rate = &watch, nil, stat.Summary{}
	own.batches, own.handed, own.clock = nil, nil, nil
	own.samples = of.Grow(r.Entity, metric.ThreadSamples)
	if r.hook != nil {
		h, _, _ := hooked.Read(&watch, r.Process)
		if h == nil {
			return b, r
		}
		of.hookFigures(&own, h)
		return &of, &own
	}
	of.batches(&own)
	own.handed = own.batches
	return &of, &own
}

// catchesUp is how many times faster steps follow each other on average than where there is no evaluation: workers go
// on while the trainer evaluates in the middle of an epoch, and it takes what they have made by then as fast as it can.
// 1 where it does not, and where that is not known: from outside batches are counted as they are made.
func (b *builder) catchesUp(r *rank) float64 {
	if r.hook == nil || stat.Sum(r.hook.Training.Of(metric.HookNested)) == 0 {
		return 1
	}
	_, usual, _ := b.withoutEvaluation(r, stat.Quotients(r.batches, r.reported))
	if x := stat.Divide(stat.Sum(r.batches), stat.Sum(r.clock)*usual); stat.Finite(x) {
		return min(max(x, 1), 1/(1-r.evaluates()))
	}
	return 1
}

// leastPart is the shortest part of a window that is used as one, in seconds: ten samples of each thread.
const leastPart = 0.2

// mostMixed is how wide the range of a share may be before it says nothing of training: half of all there is.
const mostMixed = 0.5

// evaluates is the part of the time in which a trainer evaluates; 0 where that is not known.
func (r *rank) evaluates() float64 {
	return min(stat.Share(stat.Over(stat.Sum(r.evaluated), stat.Sum(r.reported))), mostEvaluating)
}

// mostEvaluating leaves a thousandth of the time to training, which else has no share at all.
const mostEvaluating = 0.999

// withoutEvaluation is the mean of what windows have, and what one without evaluation has by the line that fits them
// best (least squares, weighted by their length), with half of its 95 % interval. No number where there are too few, or
// they are too much alike.
func (b *builder) withoutEvaluation(r *rank, shares []float64) (mean, at0, side float64) {
	var n, w, x, y, xx, xy float64
	evaluated := stat.Quotients(r.evaluated, r.reported)
	known := func(i int) bool { return stat.Finite(shares[i], evaluated[i]) && b.Length[i] > 0 }
	for i := range shares {
		if known(i) {
			l, p := b.Length[i], evaluated[i]
			n, w, x, y, xx, xy = n+1, w+l, x+l*p, y+l*shares[i], xx+l*p*p, xy+l*p*shares[i]
		}
	}
	x, y = x/w, y/w
	spread, rest := xx/w-x*x, 1-2*x+xx/w
	if n < fewestWindows || !(spread > watched.LeastApart*xx/w*rest) {
		return y, math.NaN(), math.NaN()
	}
	slope := (xy/w - x*y) / spread
	at0 = y - slope*x
	off := 0.0
	for i := range shares {
		if known(i) {
			d := shares[i] - at0 - slope*evaluated[i]
			off += b.Length[i] / w * d * d
		}
	}
	return y, at0, 1.96 * math.Sqrt(off/(n-2)*(1+x*x/spread))
}

// fewestWindows are those of which a line says more than they do one by one: five, for its two figures.
const fewestWindows = 5
