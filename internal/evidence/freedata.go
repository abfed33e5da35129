package evidence

import (
	"cmp"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// FreeData is how it was measured what the loop does with data for free. Nil where nobody asked for it.
type FreeData struct {
	Batches            int     // that were handed out again
	Copied             bool    // as copies, since the loop changes what it is handed
	Steps, Seconds     float64 // that count
	Replayed, Trainers int     // so many trainers of so many
	Why                string  // nothing was measured, or not all; "" where all is well
}

// leastChunks is how many undisturbed chunks of steps are enough to leave the others out.
const leastChunks = 3

// freeData takes the steps of a trainer that was handed its last batches again.
func (b *builder) freeData(r *rank) {
	var free, times figure
	free.why = reason{text: "nobody asked for it", cure: "start the job with pipetune diagnose --headroom -- COMMAND"}
	if f, steps, seconds := b.replayed(r); f != nil {
		b.ev.Facts.FreeData = f
		free = summary(stat.Ratio(steps, seconds)).or(reason{text: f.Why})
		if v, ok := b.ev.Get(metric.BatchesPerS); ok && free.N > 0 && v.Lo > 0 {
			times.Summary = stat.Summary{Center: free.Center / v.Center, Lo: free.Lo / v.Hi, Hi: free.Hi / v.Lo,
				Confidence: v.Confidence, N: min(v.N, free.N)}
		}
		if f.Why != "" {
			b.warn("--headroom: %s", f.Why)
		}
		if f.Replayed < f.Trainers {
			b.warn("--headroom: of %d trainers %d were handed batches again: where they wait for each other, the "+
				"others' loaders still hold them", f.Trainers, f.Replayed)
		}
	}
	b.take(metric.FreeRate, free, metric.HookSteps)
	b.take(metric.FreeTimes, times, metric.HookSteps)
}

// replayed is what one trainer did with data for free, and the steps and seconds of each chunk that counts: of the
// trainer that leads, else of the first that did so.
func (b *builder) replayed(r *rank) (f *FreeData, steps, seconds []float64) {
	of := ""
	for e, row := range recording.Each[recording.Replay](b.rec, recording.EventReplay) {
		if f == nil {
			f = &FreeData{}
		}
		f.Why = cmp.Or(f.Why, row.Why)
		if row.Steps > 0 && (of == "" || r != nil && e.Entity == r.entity) {
			of = e.Entity
		}
	}
	var all, good []recording.Replay
	for e, row := range recording.Each[recording.Replay](b.rec, recording.EventReplay) {
		if e.Entity != of || row.Steps <= 0 || row.Seconds <= 0 {
			continue
		}
		f.Batches, f.Copied, f.Replayed, f.Trainers = row.Kept, row.Copied, row.Replayed, row.Trainers
		if all = append(all, row); len(all) > 1 && row.Filled && !row.Void { // the first holds what was queued before
			good = append(good, row)
		}
	}
	if len(good) < leastChunks && len(all) > 1 {
		good = all[1:]
	}
	for _, row := range good {
		steps, seconds = append(steps, float64(row.Steps)), append(seconds, row.Seconds)
		f.Steps, f.Seconds = f.Steps+float64(row.Steps), f.Seconds+row.Seconds
	}
	return f, steps, seconds
}
