package evidence

import (
	"slices"

	"github.com/pipetune/pipetune/internal/evidence/hooked"
	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

// rank is one trainer with what was seen of its loader, per window.
type rank struct {
	*watched.Process
	// workers that lived within the steady window; those of evaluations are left out where the hook distinguishes them
	workerSet  []*watched.Process
	others     []*watched.Process // those left out
	fed        *Fed               // it has no DataLoader workers, and these make its batches: workerSet
	standby    int                // workers of these that stood by through the window
	starts     []watched.Restart  // of workers, that reach into the steady window
	restarts   []watched.Restart  // those that replaced others and began in it
	replaced   bool               // a whole set was seen to be, at any time
	samples    []float64          // seconds in which the main thread was sampled
	evaluated  []float64          // seconds in which it evaluated, as the hook reported or as is seen; nil: not known
	reported   []float64          // of so many
	evaluating []watched.Span     // the stretches where that is seen from outside
	joint      []float64          // seconds of training in which waiting could be determined
	polled     []float64          // of those, in which it waited for a batch
	aside      []float64          // seconds in which it waited for loaders that it goes over in turns with its own
	waiting    []float64          // of those, in which it waited for a batch, took one, or was starting workers
	starting   []float64          // of those, in which it was starting workers and not waiting for a batch
	// of these, on a CPU, and asleep elsewhere than in a poll
	startRan, startSlept []float64
	receiving            []float64 // of those, in which it took a batch unseen; see receive
	// of all time, how long it had no CPU meanwhile, and by how much its CPU time may be off
	delayed, receivingOff float64
	clock                 []float64 // seconds in which batches could be counted
	// batches handed over, of the training loop where the hook distinguishes it; nil where they could not be counted
	batches  []float64
	handed   []float64 // batches of all its loaders
	threads  []float64 // seconds in which its workers' main threads waited for other threads of theirs to compute
	rate     stat.Summary
	wait     stat.Summary    // for its loader, by inputWait
	basis    metric.Basis    // of the wait
	waited   []float64       // what the wait is of, in each window: seconds; nil where it is bounded only
	watched  []float64       // and of how many
	offMain  string          // why it is unknown: another thread takes the batches; "" where it is known
	noLoader bool            // it was seen to have no workers at all
	gpus     []string        // entities of the GPUs it uses
	busy     []float64       // share of each window in which they work, mean over them; nil where no counter tells
	seen     step.Seen       // of its step
	drawing  step.Range      // a sampler draws indices between two batches, as seen from outside
	step     *step.Step      // where its time goes; nil where that is unknown
	hook     *hooked.Trainer // what was reported from inside; nil without it
	mixed    bool            // what training alone has of a share of its step is not known, for evaluations between
}

// top returns the trainer that the step signals are of, nil where there is none.
func (b *builder) top() *rank {
	if len(b.ranks) == 0 {
		return nil
	}
	return b.ranks[0]
}

// rankOf gathers what was seen of a trainer and its loader.
func (b *builder) rankOf(a *watched.Process) *rank {
	r := &rank{Process: a}
	reported, seconds, thin := hooked.Read(b.Watch, a)
	if thin {
		b.thin[a.Entity] = seconds
	}
	if reported != nil {
		b.follow(r, reported.Training)
	}
	all := b.Processes.Of(a)
	r.workerSet = slices.DeleteFunc(slices.Clone(all), func(w *watched.Process) bool {
		return w.Died <= b.Steady.From || w.Born >= b.Steady.To
	})
	for _, s := range b.Starts(a, all) {
		r.replaced = r.replaced || !s.Initial
		if s.First > b.Steady.From && s.Ended < b.Steady.To {
			r.starts = append(r.starts, s)
		}
		if s.Born >= b.Steady.From && s.Born < b.Steady.To && !s.Initial {
			r.restarts = append(r.restarts, s)
		}
	}
	r.samples = b.Grow(a.Entity, metric.ThreadSamples)
	both := b.Grow(a.Loader(), metric.LoaderSamples, metric.LoaderNoWorkers)
	workers := b.Track(metric.LoaderWorkers, a.Loader()).Within(b.Steady)
	r.noLoader = len(r.workerSet) == 0 && stat.Sum(both) == 0 && stat.Sum(r.samples) > 0 &&
		!slices.ContainsFunc(workers, func(n float64) bool { return n > 0 })
	if r.noLoader && reported == nil {
		if b.feed(r); r.fed != nil {
			both = b.Grow(r.Loader(), metric.LoaderSamples)
		}
	}
	if reported == nil {
		r.evaluating = b.Evaluating(a)
	}
	if len(r.evaluating) > 0 {
		r.reported = b.Length
		r.evaluated = stat.Each(len(b.Spans), func(i int) float64 { return b.Spans[i].Within(r.evaluating) })
	}
	if !r.noLoader {
		b.waits(r, both)
		b.batches(r)
		b.receive(r)
		r.handed = r.batches
	}
	if reported != nil {
		b.hookFigures(r, reported)
	}
	return r
}

// inputWait decides how long a trainer waits for its loader: as the hook timed it, else as its main thread and its
// workers were sampled at once. It is the only place that does.
func (b *builder) inputWait(r *rank, seen step.Seen, storage step.Range) {
	r.basis = metric.Measured
	switch {
	case r.hook != nil:
		r.waited, r.watched = r.hook.Waits(), r.hook.Trained()
		if r.hook.OffMain() > mostlyOffMain { // another thread waits, and for how long is not what a step waits
			b.waitForTaker(r, seen, TakenOffMain)
			return
		}
	case r.noLoader:
		r.basis = metric.Inferred // the model of the step bounds it: a load looks like any other work
		r.wait = b.summaryOf(b.mayLoad(r, seen, storage))
		return
	default:
		r.waited, r.watched = r.waiting, r.joint
		if b.blind(r.Entity) {
			r.basis = metric.Inferred
		}
		if b.takesNone(r, seen) {
			why := SeemsOffMain
			if b.pinned(r) {
				why = MayBeOffMain
			}
			b.waitForTaker(r, seen, why)
			return
		}
	}
	r.wait = stat.Clamped(b.Quotient(r.waited, r.watched), 0, 1)
	if r.fed != nil {
		all := stat.Sum(b.Grow(r.Loader(), metric.LoaderSamples))
		b.inLocks(r, seen, 1-stat.Over(stat.Sum(b.Grow(r.Loader(), metric.LoaderAhead)), all))
	}
}

// waits adds up the time in which the trainer waited for its loader, without the time in which it is seen to evaluate.
// Three parts, none of them counted twice: it waits for a batch; it does anything else between the birth of the first
// new worker and their first batch, for it is then starting them; and while no worker is left it ends the old ones or
// starts the first new one. What else it does meanwhile may be an evaluation without workers or a checkpoint, and
// counts as its own.
func (b *builder) waits(r *rank, both []float64) {
	beside, alone := b.WaitsApart(r.Process)
	r.polled, r.aside = stat.Beyond(b.Grow(r.Loader(), metric.LoaderWaiting), beside), stat.Plus(beside, alone)
	r.starting, r.startRan = make([]float64, len(b.Spans)), make([]float64, len(b.Spans))
	r.startSlept = make([]float64, len(b.Spans))
	r.joint = both
	for i := range r.joint { // before the first worker was known, only the main thread was sampled
		r.joint[i] = max(r.joint[i], r.samples[i])
	}
	if r.evaluated != nil {
		r.joint = stat.Beyond(r.joint, r.evaluated)
	}
	for _, s := range r.starts {
		all, ran, slept := b.Starting(r.Entity, r.Loader(), s)
		for i := range all {
			r.starting[i] += all[i]
			r.startRan[i] += ran[i]
			r.startSlept[i] += slept[i]
		}
	}
	r.waiting = stat.Lesser(stat.Plus(r.polled, r.starting), r.joint)
}

// fewBatches is the count below which a rate is taken between the first and the last batch seen: counting those in the
// window is off by up to one at each end, which at 40 batches is 5 %.
const fewBatches = 40

// justBegun is how many batches the first reading of a new set of workers may tell for them to have passed since the
// reading before, some 0.3 s: workers that hand over their first batch have seldom more than a prefetch queue on the
// way.
const justBegun = 16.0

// batches counts the batches a trainer got: from the tensors its workers handed over, which are reported from the first
// on, else as the loader counted them, which takes until it is known what a batch looks like. None in the whole window
// is no rate: it may be that nothing was seen.
func (b *builder) batches(r *rank) {
	t := b.Track(metric.LoaderTensors, r.Loader())
	per, known := b.TensorsPerBatch(r.Loader())
	known = known && t != nil
	if !known {
		t, per = b.Track(metric.LoaderBatches, r.Loader()), 1
	}
	if t == nil {
		return
	}
	// Until the first is seen the counter reads nothing, and then all that came before at once, as the number in a
	// tensor's name counts from its worker's birth. What is no more than may have come since the reading before did.
	if first := t.AboveZero(); !known || first >= 0 && t.V[first] > justBegun*per {
		t.Skip(first)
	}
	alive := b.Track(metric.LoaderWorkers, r.Loader())
	all := b.Processes.Of(r.Process)
	inWatch := len(all) > 0 && all[0].BornInWatch
	// Until it is known what a batch looks like, workers are found one by one, each with all that it has ever made,
	// which those that were born in the watch have made in it.
	if regular := b.Track(metric.LoaderTensorsPer, r.Loader()); known && !inWatch &&
		regular.At[0] < (b.Steady.From+b.Steady.To)/2 {
		since := regular.At[0]
		for _, s := range r.starts {
			if !s.Initial && s.Born < regular.At[0] {
				since = s.Born
			}
		}
		t.SkipTo(since)
	}
	switch before := alive.LastBefore(t.At[0]); {
	case before < 0:
	case !known: // reported late, but counted since the workers were first seen
		since := alive.At[0]
		if inWatch {
			since = max(since, all[0].Born)
		}
		t.Begin(since)
	case inWatch && t.V[0] <= justBegun*per:
		// A worker born in the watch numbers its tensors from 1, so none had passed at the reading before the first
		// that tells some.
		t.Begin(before)
	case inWatch: // so many that they had not been seen pass: they came since the birth
		t.Begin(all[0].Born)
	}
	growth, clock := t.Grow(b.Spans)
	if inWatch { // before its first worker a trainer gets nothing
		clock = r.samples
	}
	if stat.Sum(growth) <= 0 {
		return
	}
	r.batches = stat.Each(len(growth), func(i int) float64 { return growth[i] / per })
	if r.evaluated != nil {
		clock = stat.Beyond(clock, r.evaluated)
	}
	r.clock = clock
	r.rate = b.Quotient(r.batches, clock)
	if stat.Sum(r.batches) >= fewBatches || len(b.Gaps) > 0 || r.evaluated != nil || r.rate.Center <= 0 {
		return
	}
	var at []float64
	for _, step := range t.Steps() {
		if t.Grown(step) > 0 && step.To >= b.Steady.From && step.To <= b.Steady.To {
			at = append(at, step.To)
		}
	}
	if len(at) < 3 {
		return
	}
	counted := watched.Span{From: at[0], To: at[len(at)-1]}
	if exact := t.Grown(counted) / per / counted.Length(); stat.Finite(exact) && exact > 0 {
		r.rate = r.rate.Scaled(exact / r.rate.Center)
	}
}

// What taking a batch costs the trainer's main thread on a CPU beyond what the samples see: unpickling, mapping each
// tensor, the DataLoader's own code. The trainer's stop-watch counts it as waiting, and from outside it looks like any
// other running. Measured as next() beyond what the samples see, on quiet CPUs: 0.31 to 0.50 ms with one tensor, 0.41
// to 0.69 with two, 0.74 to 0.97 with five, 1.2 to 1.5 with ten (torch 1.13, 2.6 and 2.14), and 0.80, 0.88 and 0.98
// with one, two and five (torch 2.15; Debian, 2-core Xeons). Another thread that takes the batches takes it off the
// main thread.
const (
	receiveBatch  = 0.45e-3 // s
	receiveOff    = 0.3e-3  // by how much that may be off
	receiveTensor = 0.1e-3  // s
)

// What all of taking a batch costs it, CPU time of next(): 0.8 ms with one tensor, 1.1 with two, 1.9 with five (torch
// 1.13), and 1.0, 1.6 and 2.6 (torch 2.15; the same machine).
const (
	takeBatch  = 0.6e-3  // s
	takeTensor = 0.32e-3 // s
)

// receive adds to the time the trainer waited what taking batches costs it unseen, never more than it ran: that CPU
// time, and a part of the time in which it is ready to run and has no CPU. That part is its CPU time there over all its
// CPU time. Of six jobs beside busy workers (2 CPUs) the wait was told up to 13 points too small then, without the
// delay up to 20.
func (b *builder) receive(r *rank) {
	r.receiving = make([]float64, len(r.waiting))
	others := stat.Sum(b.Grow(r.Pin(), metric.ThreadSamples)) + stat.Sum(b.Grow(r.Taker(), metric.ThreadSamples))
	if r.batches == nil || others > 0 {
		return
	}
	unseen, all := receiveBatch, takeBatch
	if per, ok := b.TensorsPerBatch(r.Loader()); ok {
		unseen += per * receiveTensor
		all += per * takeTensor
	}
	perCPU := b.delayPerCPU(r)
	if stat.Sum(b.Grow(r.Entity, asleepOutside...)) > hardlyWaits*stat.Sum(r.samples) {
		perCPU /= 2 // it wakes for its device as well, which is no wait for a batch
	}
	running := b.Grow(r.Entity, metric.ThreadRunning)
	kept := 0.0
	for i := range r.receiving {
		batches := r.batches[i]
		if r.clock[i] <= 0 { // not counted yet
			batches = r.rate.Center * r.joint[i]
		}
		free := max(min(running[i]-r.startRan[i], r.joint[i]-r.waiting[i]), 0)
		took := min(unseen*batches, free)
		delayed := min(all*perCPU*batches, free-took)
		kept += delayed
		r.receiving[i] = took + delayed
		r.waiting[i] += r.receiving[i]
	}
	r.delayed = stat.Over(kept, stat.Sum(r.joint))
	r.receivingOff = stat.OrNothing(receiveOff * r.rate.Center)
}

// untold is by how much what the trainer waits may be off beside its interval: what taking batches costs it, from none
// to twice of how long it is kept off the CPUs there, waits for Python's lock, and what it does between two epochs.
func (b *builder) untold(r *rank) step.Range {
	if r.hook != nil {
		return step.Range{}
	}
	gil, off := b.gilUntold(r), r.receivingOff
	return step.Range{Lo: -off - r.delayed, Likely: gil.Likely + r.drawing.Likely,
		Hi: gil.Hi + off + r.delayed + b.unasked(r) + r.drawing.Hi}
}

// unasked is the share of time in which the trainer's main thread runs while its loader is asked for nothing: no batch
// is on its way, and no worker makes one. Within an epoch each batch taken asks for another one, so that it is between
// two epochs: it may draw the order of the next one, for which the loop waits, or work of the loop's own. Where it
// begins and ends is known to a reading.
func (b *builder) unasked(r *rank) float64 {
	queued, made := b.Track(metric.LoaderQueued, r.Loader()), b.Track(metric.LoaderTensors, r.Loader())
	if queued == nil || made == nil || r.noLoader || b.pinned(r) { // PyTorch's thread empties the queue
		return 0
	}
	steps := queued.Steps()
	empty := func(i int) bool {
		return i >= 0 && i < len(steps) && made.Grown(steps[i]) == 0 &&
			!slices.ContainsFunc(queued.Within(steps[i]), func(n float64) bool { return n > 0 })
	}
	runs := 0.0
	for i, between := range steps {
		if !empty(i-1) && !empty(i) && !empty(i+1) || between.Within(r.evaluating) > 0 {
			continue
		}
		for _, part := range watched.Intersect(b.Spans, between) {
			ahead := b.Grown(r.Loader(), part, metric.LoaderAhead)
			runs += min(b.Grown(r.Entity, part, metric.ThreadRunning), ahead)
		}
	}
	return stat.Share(stat.Over(runs, stat.Sum(r.joint)))
}
