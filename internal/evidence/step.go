package evidence

import (
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

// asleepOutside are the places where a main thread sleeps that are neither its loader nor storage: with a GPU at work it is there that
// it waits for it, and jobs that only act as if they had one sleep there too.
var asleepOutside = []metric.Desc{metric.LooksFutexTime, metric.LooksFutex, metric.LooksSleep, metric.LooksDevice, metric.LooksOther}

// steps says where a step of the leading trainer goes.
func (b *builder) steps() {
	r := b.top()
	if r == nil {
		return
	}
	b.mainThread(r)
	b.rates(r)
	if sum(r.looks) == 0 {
		return
	}
	b.stepSignals(r)
	if r.noLoader {
		b.besideMain(r)
		if r.hook == nil && b.ev.Facts.Aside == "" {
			b.miss("the trainer has no workers (num_workers=0): it loads between its steps, and a load looks like any other work",
				b.fromInside(), metric.InputWait, metric.FreeStepTime)
		}
		return
	}
	b.gapsOf(r)
	b.seemsAside(r)
}

// mainThread takes what the trainer's main thread does.
func (b *builder) mainThread(r *rank) {
	b.rate(metric.MainCPU, metric.ProcMainCPU, r.entity, metric.Measured)
	b.rate(metric.MainRunDelay, metric.ProcRunDelay, r.entity, metric.Measured)
	b.mainReads(r)
	b.share(metric.MainStorage, b.states(r.entity, metric.LooksDisk, metric.LooksFileRead), r.looks, metric.Measured)
	if len(b.halts) == 0 {
		b.share(metric.TrainerStopped, b.states(r.entity, metric.LooksStopped), r.looks, metric.Measured)
		return
	}
	// The windows leave out the halts, which this is about.
	stopped, _ := b.h.of(metric.LooksStopped, r.entity).grown(b.steady)
	looks, _ := b.h.of(metric.LooksTotal, r.entity).grown(b.steady)
	b.exact(metric.TrainerStopped, divide(stopped, looks), metric.Measured)
}

// mainReads takes what the trainer itself reads. All that a child has read in its life is counted as its parent's once the parent has waited
// for its end (kernel/exit.c, wait_task_zombie), so where a worker ended the two cannot be told apart.
func (b *builder) mainReads(r *rank) {
	for _, w := range b.cast.of(r.actor) {
		if w.died > b.steady.from-lateNotice && w.died < b.steady.to+lateNotice {
			b.miss("a worker ended in the window, and the kernel counts all it had read as read by the trainer", "", metric.MainReadBytes)
			return
		}
	}
	b.rate(metric.MainReadBytes, metric.ProcReadChars, r.entity, metric.Measured)
}

// states adds up the looks that found a thread in any of these states, per window.
func (b *builder) states(entity string, states ...metric.Desc) []float64 {
	out := make([]float64, len(b.spans))
	for _, d := range states {
		add(out, b.grow(d, entity))
	}
	return out
}

// rates takes batches per second and what follows from it.
func (b *builder) rates(r *rank) {
	if r.rate.N == 0 {
		reason := "no batch was seen to pass: batches are counted by their tensors in shared memory"
		if r.noLoader {
			reason = "the trainer has no workers (num_workers=0): no batch passes where it could be counted"
		}
		b.miss(reason, "", metric.BatchesPerS, metric.SamplesPerS, metric.StepTime, metric.FreeStepTime, metric.WorkerCPUBatch,
			metric.WorkerWaitBatch, metric.ReadsPerBatch, metric.StoragePerBatch, metric.OpensPerBatch)
		return
	}
	b.set(metric.BatchesPerS, r.rate, metric.Measured)
	b.keep(metric.BatchesPerS, r.batches, r.clock)
	b.set(metric.StepTime, inverse(r.rate), metric.Measured)
	b.keep(metric.StepTime, r.clock, r.batches)
	if n := b.rec.Header.BatchSize; n > 0 {
		b.set(metric.SamplesPerS, scaled(r.rate, float64(n)), metric.Inferred)
		b.keep(metric.SamplesPerS, each(len(r.batches), func(i int) float64 { return r.batches[i] * float64(n) }), r.clock)
	} else if r.hook == nil {
		b.miss("the batch size is not known", "give it with --batch-size", metric.SamplesPerS)
	}
	if r.step == nil {
		return
	}
	if look := b.rec.Header.LookInterval.Seconds(); r.hook == nil && !r.noLoader && (1-r.wait.Center)*sum(b.length) < look {
		b.miss("the trainer was found waiting for data in every sample: how long a step takes without the wait is unknown", "",
			metric.FreeStepTime)
		return
	}
	if r.step.Sight == step.NoDevice && !r.noLoader { // both from the same windows: their noise has a part in common
		waits, whole := r.waiting, r.joint
		if r.hook != nil {
			waits, whole = r.hook.waits(), r.hook.trained()
		}
		free := each(len(b.spans), func(i int) float64 { return r.clock[i] * (1 - divide(waits[i], whole[i])) })
		s := stat.Ratio(free, r.batches)
		if s.N > 0 && s.Center > 0 { // one center for the rate and for what is made of it
			b.set(metric.FreeStepTime, scaled(s, max(r.step.Free.Likely, 0)/r.rate.Center/s.Center), r.basis)
		}
		return
	}
	f := r.step.Free
	b.set(metric.FreeStepTime, stat.Summary{Center: f.Likely / r.rate.Center, Lo: f.Lo / r.rate.Center, Hi: f.Hi / r.rate.Center,
		Confidence: modelConfidence, N: r.rate.N}, r.basis)
}

// gapsOf takes what the restarts of the workers cost. No restart in a window in which the workers were watched is a share of 0.
func (b *builder) gapsOf(r *rank) {
	if len(r.crew) == 0 {
		return
	}
	b.exact(metric.Restarts, float64(len(r.restarts)), metric.Measured)
	lost := make([]float64, len(b.spans))
	var gaps, births []float64
	for _, s := range r.restarts {
		for i, part := range intersect(b.spans, s.gap()) {
			lost[i] += part.length()
		}
		gaps = append(gaps, s.gap().length())
	}
	b.share(metric.EpochGap, lost, b.length, metric.Measured)
	if len(gaps) == 0 {
		b.miss("the workers were not replaced while they were watched", "watch for longer than an epoch", metric.RestartGap, metric.EpochTime)
	}
	b.set(metric.RestartGap, stat.Median(gaps), metric.Measured)
	for _, set := range workerSets(b.cast.of(r.actor)) {
		births = append(births, set[0].born)
	}
	var epochs []float64
	for i := 1; i < len(births) && len(r.restarts) > 0; i++ {
		if births[i] < b.steady.to && finite(births[i-1]) {
			epochs = append(epochs, births[i]-births[i-1])
		}
	}
	b.set(metric.EpochTime, stat.Median(epochs), metric.Measured)
}

// inverse turns a rate with its interval into a time.
func inverse(s stat.Summary) stat.Summary {
	lo, hi := s.Lo, s.Hi
	s.Center = 1 / s.Center
	s.Lo, s.Hi = 1/hi, 1/lo
	if lo <= 0 { // so few batches that none would not be a surprise: there is no upper bound
		s.Lo, s.Hi, s.Confidence = s.Center, s.Center, 0
	}
	return s
}

// scaled multiplies a figure and its interval by a positive factor.
func scaled(s stat.Summary, factor float64) stat.Summary {
	s.Center, s.Lo, s.Hi = s.Center*factor, s.Lo*factor, s.Hi*factor
	return s
}
