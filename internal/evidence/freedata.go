package evidence

import (
	"cmp"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// leastChunks is how many undisturbed chunks of steps are enough to leave the others out.
const leastChunks = 3

// freeData takes the steps of a trainer that was handed its last batches again.
func (b *builder) freeData(r *rank) {
	var free, times figure
	free.why = Reason{Text: "nobody asked for it", Cure: "start the job with pipetune diagnose --headroom -- COMMAND"}
	if last, steps, seconds := b.replayed(r); last != nil {
		free = b.ratio(steps, seconds).or(Reason{Text: last.Why})
		if v, ok := b.ev.Get(metric.BatchesPerS); ok && free.N > 0 && v.Lo > 0 {
			times.Summary = stat.Summary{Center: free.Center / v.Center, Lo: free.Lo / v.Hi, Hi: free.Hi / v.Lo,
				Confidence: v.Confidence, N: min(v.N, free.N)}
		}
		if last.Why != "" {
			b.warn("--headroom: %s", last.Why)
		}
		if last.Replayed < last.Trainers {
			b.warn("--headroom: of %d trainers %d were handed batches again: where they wait for each other, the "+
				"others' loaders still hold them", last.Trainers, last.Replayed)
		}
	}
	b.take(metric.FreeRate, free, metric.HookSteps)
	b.take(metric.FreeTimes, times, metric.HookSteps)
}

// replayed is the last chunk of steps that one trainer did with data for free, with why nothing was measured, or not
// all, and the steps and seconds of each chunk that counts: of the trainer that leads, else of the first that did so.
// It is nil where nobody asked for it.
func (b *builder) replayed(r *rank) (last *recording.Replay, steps, seconds []float64) {
	of, why := "", ""
	for e, row := range recording.Each[recording.Replay](b.Rec, recording.EventReplay) {
		last, why = &recording.Replay{}, cmp.Or(why, row.Why)
		if row.Steps > 0 && (of == "" || e.Entity == r.Entity) {
			of = e.Entity
		}
	}
	var all, good []recording.Replay
	for e, row := range recording.Each[recording.Replay](b.Rec, recording.EventReplay) {
		if e.Entity != of || row.Steps <= 0 || row.Seconds <= 0 {
			continue
		}
		last = &row
		if all = append(all, row); len(all) > 1 && row.Filled && !row.Void { // the first holds what was queued before
			good = append(good, row)
		}
	}
	if len(good) < leastChunks && len(all) > 1 {
		good = all[1:]
	}
	for _, row := range good {
		steps, seconds = append(steps, float64(row.Steps)), append(seconds, row.Seconds)
	}
	if last != nil {
		last.Why = why
	}
	return last, steps, seconds
}
