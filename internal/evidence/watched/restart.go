package watched

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// Restart is the start of a trainer's whole set of workers: its first, or one that replaces another, as between two
// epochs.
type Restart struct {
	Initial bool
	Ended   float64   // death of the last old worker, timed: of the first; without any, birth of the first new one
	Born    float64   // birth of the first new one
	First   float64   // the first batch of the new set, as near as it was seen
	births  []float64 // of the new ones
	timed   *changeover
}

// changeover is a restart as samples of the main thread timed it; the counters of the loader are told a few times a
// second, which says little of epochs that are as short.
type changeover struct {
	Span
	recording.Changeover
}

// share is the part of it that so many of its samples stand for.
func (c *changeover) share(samples int64) float64 {
	return stat.Share(float64(samples) / max(float64(c.Samples), 1))
}

// changeovers are those of a trainer, in order.
func (f *Watch) changeovers(trainer *Process) (all []changeover) {
	for e, row := range recording.Each[recording.Changeover](f.Rec, recording.EventChangeover) {
		first := e.At.Seconds() - row.Ago
		if e.Entity == trainer.Loader() && row.Took > 0 && stat.Finite(row.Took, first) {
			all = append(all, changeover{Span{first - row.Took, first}, row})
		}
	}
	return all
}

// Gap is the stretch between the end of the old set and the first batch of the new.
func (r Restart) Gap() Span { return Span{r.Ended, max(r.First, r.Ended)} }

// Starting is how long a trainer does anything else than wait for a batch in a restart of its workers, in each span;
// how much of that it runs; and how much it sleeps, or, where no samples timed the restart, does not run.
func (f *Watch) Starting(entity, loader string, s Restart) (all, ran, slept []float64) {
	spans := f.Spans
	if c := s.timed; c != nil {
		part := func(share float64) []float64 {
			return stat.Each(len(spans), func(i int) float64 { return share * spans[i].Overlap(s.Gap()) })
		}
		return part(1 - c.share(c.Waiting)), part(c.share(c.Running)), part(c.share(c.Asleep))
	}
	all, _ = f.changing(entity, loader, s).Grow(spans)
	ran, slept = make([]float64, len(spans)), make([]float64, len(spans))
	for i, part := range Intersect(spans, Span{s.Born, s.First}) {
		samples := f.Grown(entity, part, metric.ThreadSamples)
		waited := f.Grown(loader, part, metric.LoaderWaiting) + f.Grown(entity, part, atWork...)
		all[i] += max(samples-waited, 0)
		ran[i] = min(f.Grown(entity, part, metric.ThreadRunning), all[i])
		slept[i] = all[i] - ran[i]
	}
	return all, ran, slept
}

// StartTime is how long the trainer starts the workers in a restart, at most all of it: several, from birth to birth; a
// single one, as long as it runs, with what else it does then. NaN where that was not seen.
func (r Restart) StartTime() float64 {
	births := slices.DeleteFunc(slices.Clone(r.births), func(born float64) bool { return born > r.First })
	switch n := float64(len(births)); {
	case n > 1: // they are born one after the other
		return min((births[len(births)-1]-births[0])*n/(n-1), r.Gap().Length())
	case r.timed != nil:
		return r.Gap().Length() * r.timed.share(r.timed.Running)
	}
	return math.NaN()
}

// How births make sets. Workers of one iterator are started one after the other; under spawn a start blocks until the
// dataset's pickle has gone through the pipe, which took up to 2.7 s per worker with a 200 MiB dataset (PyTorch 2.14 on
// Debian sid, 8 workers). The death of an old worker is noticed up to a scan of the process table later than the birth
// of a new one happened.
const (
	setPause   = 4.0 // seconds between two births of one set
	LateNotice = 1.0 // seconds by which a death may be noticed late
)

// WorkerSets groups workers, in order of birth, into sets started together.
func WorkerSets(workers []*Process) [][]*Process {
	var sets [][]*Process
	for _, w := range workers {
		if n := len(sets); n > 0 {
			set := sets[n-1]
			gone := false
			for _, o := range set {
				// A death just after a birth may have come before it. It did where the birth is nearer to that death
				// than to the birth of the one that died: siblings are born soon after each other.
				late := o.Died - w.Born
				gone = gone || late <= 0 || late <= LateNotice && late < w.Born-o.Born
			}
			if !gone && w.Born-set[len(set)-1].Born <= setPause {
				sets[n-1] = append(set, w)
				continue
			}
		}
		sets = append(sets, []*Process{w})
	}
	return sets
}

// Starts finds the births in the watch at which no worker of before was left.
func (f *Watch) Starts(trainer *Process, workers []*Process) []Restart {
	sets := WorkerSets(workers)
	between := slices.DeleteFunc(f.Processes.OfAll(trainer), func(w *Process) bool {
		return !w.inTurns || slices.Contains(workers, w)
	})
	pace, timed := f.pace(trainer, sets), f.changeovers(trainer)
	var out []Restart
	for i := range sets {
		born := sets[i][0].Born
		if !sets[i][0].BornInWatch {
			continue
		}
		r := Restart{Initial: i == 0, Born: born, Ended: math.Inf(-1),
			births: stat.Each(len(sets[i]), func(k int) float64 { return sets[i][k].Born })}
		if r.Initial {
			r.Ended = born
		}
		whole := true
		for _, older := range sets[:i] {
			for _, w := range older {
				whole = whole && w.Died <= born+LateNotice
				r.Ended = max(r.Ended, min(w.Died, born))
			}
		}
		if !whole {
			continue
		}
		next := math.Inf(1)
		if i+1 < len(sets) {
			next = sets[i+1][0].Born
		}
		for _, w := range between {
			if w.Born > born {
				next = min(next, w.Born)
			} else if !r.Initial {
				r.Ended = max(r.Ended, min(w.Died, born))
			}
		}
		at := slices.IndexFunc(timed, func(c changeover) bool { return c.To > born && c.From < next && c.To < next })
		if at >= 0 && !r.Initial {
			r.timed = &timed[at]
			r.Ended, r.First = r.timed.From, r.timed.To
		} else {
			r.First = min(f.firstBatch(trainer, r, pace, next), f.backAtWork(trainer, born, next))
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
func (f *Watch) pace(trainer *Process, sets [][]*Process) pace {
	t, came, during := f.Track(metric.LoaderTensors, trainer.Loader()), 0.0, 0.0
	alive := f.Track(metric.LoaderWorkers, trainer.Loader())
	since := math.Inf(1) // the last birth whose first tensors did not come yet
	for _, step := range t.Steps() {
		for len(sets) > 0 && sets[0][0].Born < step.To {
			since, sets = sets[0][0].Born, sets[1:]
		}
		grew := t.Grown(step)
		if since > step.To {
			if !slices.Contains(alive.Within(step), 0) { // else training has paused
				came, during = came+grew, during+step.Length()
			}
		} else if grew > 0 && step.From >= since {
			since = math.Inf(1)
		}
	}
	per, ok := f.TensorsPerBatch(trainer.Loader())
	if !ok {
		per = 1
	}
	return pace{stat.Divide(came, during), per}
}

// firstBatch says when a new set handed over its first batch, as far as the count of tensors tells. Where tensors were
// not seen yet, it is the first step in which the trainer mostly does something else than wait or write to new workers.
func (f *Watch) firstBatch(trainer *Process, r Restart, usual pace, before float64) float64 {
	alive := f.Track(metric.LoaderWorkers, trainer.Loader())
	t := f.Track(metric.LoaderTensors, trainer.Loader())
	switch {
	case t == nil:
		return f.endOfWait(trainer, r.Born, before)
	case t.At[0] > r.Born: // a tensor was seen by then
		return f.endOfWait(trainer, r.Born, min(before, t.At[0]))
	}
	for _, step := range t.stepsBetween(r.Born, before) {
		now := alive.Within(Span{step.From, step.From})
		if step.From >= r.Born && t.Grown(step) > 0 && len(now) > 0 && now[0] > 0 {
			return f.firstOf(trainer, r, usual, step)
		}
	}
	return min(before, max(t.Last(), r.Born))
}

// firstOf is when the first batch came that was counted by the end of a step between two readings, the first step after
// a birth in which the count grew: at the usual pace all that came since the old set ended take so long. What was read
// in the step of the birth is of both sets; and no later than the middle of the step, as the first of a slow loader is.
func (f *Watch) firstOf(trainer *Process, r Restart, usual pace, step Span) float64 {
	t, queue := f.Track(metric.LoaderTensors, trainer.Loader()), f.Track(metric.LoaderQueued, trainer.Loader())
	middle := (step.From + step.To) / 2
	if !(usual.perSecond > 0) {
		return middle
	}
	last := t.LastBefore(r.Ended) // a reading at which only the old set had handed over
	if last < 0 || r.Initial {
		last = r.Ended
	}
	queued := func(at float64) float64 { return stat.Sum(queue.Within(Span{at, at})) }
	came := t.Grown(Span{last, step.To}) - usual.perSecond*(r.Ended-last) - max(queued(step.To)-queued(last), 0)
	first := step.To - (came-usual.perBatch/2)/usual.perSecond
	if came <= t.Grown(step) {
		first = max(first, step.From)
	}
	return max(min(first, middle), r.Born)
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
func (f *Watch) backAtWork(trainer *Process, born, before float64) float64 {
	for _, step := range f.Track(metric.ThreadSamples, trainer.Entity).stepsBetween(born, before) {
		worked := f.Grown(trainer.Entity, step, atWork...) - max(born-step.From, 0)
		begin := max(step.From, born)
		if worked > backAtWorkShare*(step.To-begin) {
			return step.To - min(worked, step.To-begin)
		}
	}
	return math.Inf(1)
}

// waitsAtStart is the share of samples below which a trainer no longer waits for its first batch. Then it does nothing
// but wait and start workers; a trainer that waits for three quarters of its steps later on would seem to start for
// ever at a half.
const waitsAtStart = 0.75

// endOfWait returns the first step after a birth in which the trainer does something else than wait for its workers.
func (f *Watch) endOfWait(trainer *Process, born, latest float64) float64 {
	samples := f.Track(metric.LoaderSamples, trainer.Loader())
	if samples == nil {
		return born
	}
	latest = min(latest, max(samples.Last(), born))
	for _, step := range samples.stepsBetween(born, latest) {
		waited := f.Grown(trainer.Loader(), step, metric.LoaderWaiting) +
			f.Grown(trainer.Entity, step, metric.ThreadWaitChild, metric.ThreadPipeWrite)
		if all := samples.Grown(step); step.From >= born && all > 0 && waited < waitsAtStart*all {
			return step.From
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
func (f *Watch) changing(entity, loader string, s Restart) *Track {
	none := f.Track(metric.LoaderNoWorkers, loader)
	out := &Track{At: []float64{math.Inf(-1)}, V: []float64{0}}
	total, begin := 0.0, s.Ended-LateNotice
	for _, step := range none.stepsBetween(begin, s.Born) {
		step = step.And(Span{begin, s.Born})
		counted := f.Grown(loader, step, metric.LoaderWaiting)
		busy := f.Grown(entity, step, changingStates...) - counted
		total += min(max(busy, 0), none.Grown(step))
		out.At, out.V = append(out.At, step.From, step.To), append(out.V, out.V[len(out.V)-1], total)
	}
	return out
}
