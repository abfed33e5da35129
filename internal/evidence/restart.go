package evidence

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// restart is the start of a trainer's whole set of workers: its first, or one that replaces another, as between two
// epochs.
type restart struct {
	initial bool
	ended   float64   // death of the last old worker, timed: of the first; without any, birth of the first new one
	born    float64   // birth of the first new one
	first   float64   // the first batch of the new set, as near as it was seen
	births  []float64 // of the new ones
	timed   *changeover
}

// changeover is a restart as samples of the main thread timed it; the counters of the loader are told a few times a
// second, which says little of epochs that are as short.
type changeover struct {
	span
	recording.Changeover
}

// share is the part of it that so many of its samples stand for.
func (c *changeover) share(samples int64) float64 {
	return stat.Share(float64(samples) / max(float64(c.Samples), 1))
}

// changeovers are those of a trainer, in order.
func (f *frame) changeovers(trainer *process) (all []changeover) {
	for e, row := range recording.Each[recording.Changeover](f.rec, recording.EventChangeover) {
		first := e.At.Seconds() - row.Ago
		if e.Entity == trainer.loader() && row.Took > 0 && stat.Finite(row.Took, first) {
			all = append(all, changeover{span{first - row.Took, first}, row})
		}
	}
	return all
}

// gap is the stretch between the end of the old set and the first batch of the new.
func (r restart) gap() span { return span{r.ended, max(r.first, r.ended)} }

// starting is how long a trainer does anything else than wait for a batch in a restart of its workers, in each span;
// how much of that it runs; and how much it sleeps, or, where no samples timed the restart, does not run.
func (f *frame) starting(entity, loader string, s restart) (all, ran, slept []float64) {
	spans := f.spans
	if c := s.timed; c != nil {
		part := func(share float64) []float64 {
			return stat.Each(len(spans), func(i int) float64 { return share * spans[i].overlap(s.gap()) })
		}
		return part(1 - c.share(c.Waiting)), part(c.share(c.Running)), part(c.share(c.Asleep))
	}
	all, _ = f.changing(entity, loader, s).grow(spans)
	ran, slept = make([]float64, len(spans)), make([]float64, len(spans))
	for i, part := range intersect(spans, span{s.born, s.first}) {
		samples := f.grown(entity, part, metric.ThreadSamples)
		waited := f.grown(loader, part, metric.LoaderWaiting) + f.grown(entity, part, atWork...)
		all[i] += max(samples-waited, 0)
		ran[i] = min(f.grown(entity, part, metric.ThreadRunning), all[i])
		slept[i] = all[i] - ran[i]
	}
	return all, ran, slept
}

// startTime is how long the trainer starts the workers in a restart, at most all of it: several, from birth to birth; a
// single one, as long as it runs, with what else it does then. NaN where that was not seen.
func (r restart) startTime() float64 {
	births := slices.DeleteFunc(slices.Clone(r.births), func(born float64) bool { return born > r.first })
	switch n := float64(len(births)); {
	case n > 1: // they are born one after the other
		return min((births[len(births)-1]-births[0])*n/(n-1), r.gap().length())
	case r.timed != nil:
		return r.gap().length() * r.timed.share(r.timed.Running)
	}
	return math.NaN()
}

// How births make sets. Workers of one iterator are started one after the other; under spawn a start blocks until the
// dataset's pickle has gone through the pipe, which took up to 2.7 s per worker with a 200 MiB dataset (PyTorch 2.14 on
// Debian sid, 8 workers). The death of an old worker is noticed up to a scan of the process table later than the birth
// of a new one happened.
const (
	setPause   = 4.0 // seconds between two births of one set
	lateNotice = 1.0 // seconds by which a death may be noticed late
)

// workerSets groups workers, in order of birth, into sets started together.
func workerSets(workers []*process) [][]*process {
	var sets [][]*process
	for _, w := range workers {
		if n := len(sets); n > 0 {
			set := sets[n-1]
			gone := false
			for _, o := range set {
				// A death just after a birth may have come before it. It did where the birth is nearer to that death
				// than to the birth of the one that died: siblings are born soon after each other.
				late := o.died - w.born
				gone = gone || late <= 0 || late <= lateNotice && late < w.born-o.born
			}
			if !gone && w.born-set[len(set)-1].born <= setPause {
				sets[n-1] = append(set, w)
				continue
			}
		}
		sets = append(sets, []*process{w})
	}
	return sets
}

// starts finds the births in the watch at which no worker of before was left. Workers of another loader that live on (a
// validation loader's) mean that not the whole set was replaced.
func (f *frame) starts(trainer *process, workers []*process) []restart {
	sets := workerSets(workers)
	pace, timed := f.pace(trainer, sets), f.changeovers(trainer)
	var out []restart
	for i := range sets {
		born := sets[i][0].born
		if !sets[i][0].bornInWatch {
			continue
		}
		r := restart{initial: i == 0, born: born, ended: math.Inf(-1),
			births: stat.Each(len(sets[i]), func(k int) float64 { return sets[i][k].born })}
		if r.initial {
			r.ended = born
		}
		whole := true
		for _, older := range sets[:i] {
			for _, w := range older {
				whole = whole && w.died <= born+lateNotice
				r.ended = max(r.ended, min(w.died, born))
			}
		}
		if !whole {
			continue
		}
		next := math.Inf(1)
		if i+1 < len(sets) {
			next = sets[i+1][0].born
		}
		at := slices.IndexFunc(timed, func(c changeover) bool { return c.to > born && c.from < next && c.to < next })
		if at >= 0 && !r.initial {
			r.timed = &timed[at]
			r.ended, r.first = r.timed.from, r.timed.to
		} else {
			r.first = min(f.firstBatch(trainer, r, pace, next), f.backAtWork(trainer, born, next))
		}
		out = append(out, r)
	}
	return out
}

// pace is how tensors come to a trainer when no workers are starting.
type pace struct {
	perSecond float64 // NaN where it did not show
	perBatch  float64 // 1 where it is not known
}

// pace takes it from the steps between readings but those from a birth to the first growth after it.
func (f *frame) pace(trainer *process, sets [][]*process) pace {
	t, came, during := f.of(metric.LoaderTensors, trainer.loader()), 0.0, 0.0
	alive := f.of(metric.LoaderWorkers, trainer.loader())
	since := math.Inf(1) // the last birth whose first tensors did not come yet
	for _, step := range t.steps() {
		for len(sets) > 0 && sets[0][0].born < step.to {
			since, sets = sets[0][0].born, sets[1:]
		}
		grew := t.grown(step)
		if since > step.to {
			if !slices.Contains(alive.within(step), 0) { // else training has paused
				came, during = came+grew, during+step.length()
			}
		} else if grew > 0 && step.from >= since {
			since = math.Inf(1)
		}
	}
	per, ok := f.tensorsPerBatch(trainer.loader())
	if !ok {
		per = 1
	}
	return pace{stat.Divide(came, during), per}
}

// firstBatch says when a new set handed over its first batch, as far as the count of tensors tells. Where tensors were
// not seen yet, it is the first step in which the trainer mostly does something else than wait or write to new workers.
func (f *frame) firstBatch(trainer *process, r restart, usual pace, before float64) float64 {
	alive := f.of(metric.LoaderWorkers, trainer.loader())
	t := f.of(metric.LoaderTensors, trainer.loader())
	switch {
	case t == nil:
		return f.endOfWait(trainer, r.born, before)
	case t.at[0] > r.born: // a tensor was seen by then
		return f.endOfWait(trainer, r.born, min(before, t.at[0]))
	}
	for _, step := range t.stepsBetween(r.born, before) {
		now := alive.within(span{step.from, step.from})
		if step.from >= r.born && t.grown(step) > 0 && len(now) > 0 && now[0] > 0 {
			return f.firstOf(trainer, r, usual, step)
		}
	}
	return min(before, max(t.last(), r.born))
}

// firstOf is when the first batch came that was counted by the end of a step between two readings, the first step after
// a birth in which the count grew: at the usual pace all that came since the old set ended take so long. What was read
// in the step of the birth is of both sets; and no later than the middle of the step, as the first of a slow loader is.
func (f *frame) firstOf(trainer *process, r restart, usual pace, step span) float64 {
	t, queue := f.of(metric.LoaderTensors, trainer.loader()), f.of(metric.LoaderQueued, trainer.loader())
	middle := (step.from + step.to) / 2
	if !(usual.perSecond > 0) {
		return middle
	}
	last := t.lastBefore(r.ended) // a reading at which only the old set had handed over
	if last < 0 || r.initial {
		last = r.ended
	}
	queued := func(at float64) float64 { return stat.Sum(queue.within(span{at, at})) }
	came := t.grown(span{last, step.to}) - usual.perSecond*(r.ended-last) - max(queued(step.to)-queued(last), 0)
	first := step.to - (came-usual.perBatch/2)/usual.perSecond
	if came <= t.grown(step) {
		first = max(first, step.from)
	}
	return max(min(first, middle), r.born)
}

// atWork are the states of a main thread that has a batch and lets the device work on it. It is never there while it
// starts workers.
var atWork = []metric.Desc{metric.ThreadSleep, metric.ThreadDevice}

// backAtWorkShare is the share of a step after a birth that a trainer must be at work to be taken to have its first
// batch; one sample of some ten a step may be chance.
const backAtWorkShare = 0.25

// backAtWork says when the main thread was at work again after a birth, +Inf where that does not show. The loader is
// reported a few times a second, and forked workers hand over their first batch within hundredths: what the step that
// holds the birth has of work beyond the time before the birth came after it.
func (f *frame) backAtWork(trainer *process, born, before float64) float64 {
	for _, step := range f.of(metric.ThreadSamples, trainer.entity).stepsBetween(born, before) {
		worked := f.grown(trainer.entity, step, atWork...) - max(born-step.from, 0)
		begin := max(step.from, born)
		if worked > backAtWorkShare*(step.to-begin) {
			return step.to - min(worked, step.to-begin)
		}
	}
	return math.Inf(1)
}

// waitsAtStart is the share of samples below which a trainer no longer waits for its first batch. Then it does nothing
// but wait and start workers; a trainer that waits for three quarters of its steps later on would seem to start for
// ever at a half.
const waitsAtStart = 0.75

// endOfWait returns the first step after a birth in which the trainer does something else than wait for its workers.
func (f *frame) endOfWait(trainer *process, born, latest float64) float64 {
	samples := f.of(metric.LoaderSamples, trainer.loader())
	if samples == nil {
		return born
	}
	latest = min(latest, max(samples.last(), born))
	for _, step := range samples.stepsBetween(born, latest) {
		waited := f.grown(trainer.loader(), step, metric.LoaderWaiting) +
			f.grown(trainer.entity, step, metric.ThreadWaitChild, metric.ThreadPipeWrite)
		if all := samples.grown(step); step.from >= born && all > 0 && waited < waitsAtStart*all {
			return step.from
		}
	}
	return latest
}

// changingStates are where a main thread is while it ends workers, which it joins by a poll on their sentinels, or
// starts one, to which it writes the dataset (multiprocessing/popen_fork.py, popen_spawn_posix.py).
var changingStates = []metric.Desc{metric.ThreadQueuePoll, metric.ThreadPipeRead, metric.ThreadWaitChild,
	metric.ThreadPipeWrite}

// changing returns, as a counter, the time between two sets of workers in which none was alive and the trainer was busy
// with the change. The samples notice a death at once and the table of processes up to a scan later, so it begins
// before the end of the old set.
func (f *frame) changing(entity, loader string, s restart) *track {
	none := f.of(metric.LoaderNoWorkers, loader)
	out := &track{at: []float64{math.Inf(-1)}, v: []float64{0}}
	total, begin := 0.0, s.ended-lateNotice
	for _, step := range none.stepsBetween(begin, s.born) {
		step = step.and(span{begin, s.born})
		counted := f.grown(loader, step, metric.LoaderWaiting)
		busy := f.grown(entity, step, changingStates...) - counted
		total += min(max(busy, 0), none.grown(step))
		out.at, out.v = append(out.at, step.from, step.to), append(out.v, out.v[len(out.v)-1], total)
	}
	return out
}
