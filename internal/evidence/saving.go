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
	wrote, saves  bool // much was written in it; it belongs to a save
	stands        bool // hardly a batch passes, not for lack of it, from a save on or until one
}

// saving takes the pauses in which the main thread writes instead of training, as it does for a checkpoint: what is
// missing meanwhile of the batches that pass elsewhere. That is the least: batches that fill the queue count as
// trained, and what else is missing right before and after may be the save's, as fsync takes its time after the last
// byte, or anything else's.
func (b *builder) saving(r *rank) {
	var lost, pause, size, every figure
	steps, pace := b.saveSteps(r)
	var saves []saveStep
	rest, writes := 0.0, 0.0
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
		if s.saves {
			writes += s.Length()
		}
	}
	switch {
	case len(steps) == 0:
	case !(pace > 0):
		lost.why = r.unbatched()
	case rest+writes < b.Steady.Length()/2 || rest < writes && rest*r.rate.Center < fewBatches:
		lost.why.Text = "the trainer's main thread writes, or starts workers, in most readings: how fast " +
			"training goes without is not known"
	default:
		var lengths, most, sizes, apart []float64
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
			most = append(most, length+min(s.handed, b.queued(r))/pace+b.missingBeside(r, steps, s.Span, pace))
		}
		lost, pause, size, every = exact(stat.Sum(lengths)/b.Steady.Length()), median(lengths), median(sizes),
			median(apart)
		if len(lengths) > 0 { // a watch has few of them: the next ones are as long as the shortest, or the longest
			often := float64(len(lengths)) / b.Steady.Length()
			lost.Lo, lost.Hi = often*slices.Min(lengths), stat.Share(often*slices.Max(most))
		}
		if rest < writes && len(lengths) > 1 { // two of them in neighbouring readings look like one
			pause = none("the main thread writes in most readings, so that one pause is not told from the next", "")
			size, every = pause, pause
		}
	}
	b.take(metric.SaveTime, lost.by(metric.Inferred), metric.ProcMainWriteChars)
	b.take(metric.SavePause, pause.by(metric.Inferred), metric.ProcMainWriteChars)
	b.take(metric.SaveBytes, size, metric.ProcMainWriteChars)
	b.take(metric.SaveEvery, every, metric.ProcMainWriteChars)
}

// queued is how many batches a trainer's workers make ahead.
func (b *builder) queued(r *rank) float64 {
	each := 2 // DataLoader's default
	if seen := b.prefetch(r); seen != nil {
		each = *seen
	}
	n := float64(each) * b.numWorkers(r).Center
	if per, ok := b.center(metric.TensorsPerBatch); ok && b.Track(metric.LoaderTensors, r.Loader()) != nil {
		n *= per
	}
	return n
}

// missingBeside is how many seconds' worth of batches is missing right before and after a save: while training stands
// still, unless it is seen to evaluate, and in the one step on each side in which it goes on.
func (b *builder) missingBeside(r *rank, steps []saveStep, save watched.Span, pace float64) (missing float64) {
	first := slices.IndexFunc(steps, func(s saveStep) bool { return s.From >= save.From })
	last := first
	for last+1 < len(steps) && steps[last+1].To <= save.To {
		last++
	}
	for _, side := range []struct{ at, by int }{{first, -1}, {last, 1}} {
		for i := side.at + side.by; i >= 0 && i < len(steps) && !steps[i].saves; i += side.by {
			s, beside := steps[i], steps[i-side.by]
			if s.To != beside.From && s.From != beside.To {
				break
			}
			missing += max(s.Length()-s.handed/pace-s.Within(r.evaluating), 0)
			if !s.stands {
				break
			}
		}
	}
	return missing
}

// saveSteps returns the steps of the steady window, and how many batches pass in a second, in what counts them, where
// the main thread saves nothing. A save begins before its first byte, with copies from a device, and ends after the
// last, with what fsync waits for: the one step before and the one after belong to it where less than half of the usual
// number passes and the trainer does not wait for its loader; no more, for an evaluation beside it looks the same. New
// workers are started with what is written to them.
func (b *builder) saveSteps(r *rank) (out []saveStep, pace float64) {
	wrote := b.Track(metric.ProcMainWriteChars, r.Entity)
	handed := cmp.Or(b.Track(metric.LoaderTensors, r.Loader()), b.Track(metric.LoaderBatches, r.Loader()))
	for _, s := range wrote.Steps() {
		s = s.And(b.Steady)
		starts := slices.ContainsFunc(r.starts, func(o watched.Restart) bool {
			return s.Overlap(watched.Span{From: o.Born, To: o.First}) > 0
		})
		if s.Length() > 0 && !starts {
			bytes := wrote.Grown(s)
			out = append(out, saveStep{Span: s, bytes: bytes, handed: handed.Grown(s), wrote: bytes >= LeastSaved})
		}
	}
	usual := func() float64 {
		passed, lasted := 0.0, 0.0
		for _, s := range out {
			if !s.wrote && !s.stands {
				passed, lasted = passed+s.handed, lasted+s.Length()
			}
		}
		return stat.Over(passed, lasted)
	}
	pace = usual()
	mark := func(s, beside *saveStep) {
		s.saves = s.saves || s.wrote
		if !s.wrote && (beside.wrote || beside.stands) && (beside.To == s.From || s.To == beside.From) &&
			s.handed < pace*s.Length()/2 && b.Grown(r.Loader(), s.Span, metric.LoaderWaiting) < s.Length()/2 {
			s.stands, s.saves = true, s.saves || beside.wrote
		}
	}
	for i := range out {
		mark(&out[i], &out[max(i-1, 0)])
	}
	for i := len(out) - 2; i >= 0; i-- {
		mark(&out[i], &out[i+1])
	}
	return out, usual()
}
