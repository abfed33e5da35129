package evidence

import (
	"cmp"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

const (
	// LeastSaved is how many bytes the main thread must write between two readings, half a second, to be saving
	// something.
	LeastSaved = 1 << 20
	// LeastSaveSteps is how many steps must fail to come for a pause to be determined.
	LeastSaveSteps = 2
)

// saveStep is the time between two readings of what the main thread has written.
type saveStep struct {
	watched.Span
	bytes, handed float64
	saves         bool
}

// saving takes the pauses in which the main thread writes instead of training, as it does for a checkpoint: what is
// missing meanwhile of the batches that pass elsewhere. Batches that fill the queue count as trained, so that a pause
// may be longer by them.
func (b *builder) saving(r *rank) {
	var lost, pause, size, every figure
	steps, pace := b.saveSteps(r)
	var saves []saveStep
	rest := 0.0
	for i, s := range steps {
		switch n := len(saves); {
		case !s.saves:
			rest += s.Length()
		case i > 0 && steps[i-1].saves && steps[i-1].To == s.From:
			last := &saves[n-1]
			last.To, last.bytes, last.handed = s.To, last.bytes+s.bytes, last.handed+s.handed
		default:
			saves = append(saves, s)
		}
	}
	switch {
	case len(steps) == 0:
	case !(pace > 0):
		lost.why = r.unbatched()
	case rest < b.Steady.Length()/2:
		lost.why.Text = "the trainer's main thread writes most of the time: pauses cannot be distinguished"
	default:
		var lengths, sizes, apart []float64
		before := 0.0
		for _, s := range saves {
			length := s.Length() - s.handed/pace
			if length*r.rate.Center < LeastSaveSteps {
				continue
			}
			if len(lengths) > 0 {
				apart = append(apart, s.From-before)
			}
			before, lengths, sizes = s.From, append(lengths, length), append(sizes, s.bytes)
		}
		lost, pause, size, every = exact(stat.Sum(lengths)/b.Steady.Length()), median(lengths), median(sizes),
			median(apart)
		if len(lengths) > 0 { // a watch has few of them: the next ones are as long as the shortest, or the longest
			often := float64(len(lengths)) / b.Steady.Length()
			lost.Lo, lost.Hi = often*slices.Min(lengths), stat.Share(often*slices.Max(lengths))
		}
	}
	b.take(metric.SaveTime, lost.by(metric.Inferred), metric.ProcMainWriteChars)
	b.take(metric.SavePause, pause.by(metric.Inferred), metric.ProcMainWriteChars)
	b.take(metric.SaveBytes, size, metric.ProcMainWriteChars)
	b.take(metric.SaveEvery, every, metric.ProcMainWriteChars)
}

// saveSteps returns the steps of the steady window, and how many batches pass in a second, in what counts them, where
// the main thread saves nothing. A save begins before its first byte, with copies from a device, and ends after the
// last, with what fsync waits for: the one step before and the one after belong to it where less than half of the usual
// number passes and the trainer does not wait for its loader; no more, for an evaluation beside it looks the same. New
// workers are started with what is written to them.
func (b *builder) saveSteps(r *rank) (out []saveStep, pace float64) {
	wrote := b.Track(metric.ProcMainWriteChars, r.Entity)
	handed := cmp.Or(b.Track(metric.LoaderTensors, r.Loader()), b.Track(metric.LoaderBatches, r.Loader()))
	passed, lasted := 0.0, 0.0
	for _, s := range wrote.Steps() {
		s = s.And(b.Steady)
		starts := slices.ContainsFunc(r.starts, func(o watched.Restart) bool {
			return s.Overlap(watched.Span{From: o.Born, To: o.First}) > 0
		})
		if s.Length() <= 0 || starts {
			continue
		}
		step := saveStep{Span: s, bytes: wrote.Grown(s), handed: handed.Grown(s)}
		if step.saves = step.bytes >= LeastSaved; !step.saves {
			passed, lasted = passed+step.handed, lasted+s.Length()
		}
		out = append(out, step)
	}
	pace = stat.Over(passed, lasted)
	stands := func(s saveStep) bool {
		return s.handed < pace*s.Length()/2 && b.Grown(r.Loader(), s.Span, metric.LoaderWaiting) < s.Length()/2
	}
	for i := 1; i < len(out); i++ {
		switch before, after := &out[i-1], &out[i]; {
		case before.To != after.From:
		case before.bytes >= LeastSaved:
			after.saves = after.saves || stands(*after)
		case after.bytes >= LeastSaved:
			before.saves = before.saves || stands(*before)
		}
	}
	return out, pace
}
