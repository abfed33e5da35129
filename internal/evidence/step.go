package evidence

import (
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// asleepOutside are the places where a main thread sleeps that are neither its loader nor storage: with a GPU at work it is there that
// it waits for it, and jobs that only act as if they had one sleep there too.
var asleepOutside = []metric.Desc{metric.LooksFutexTime, metric.LooksFutex, metric.LooksSleep, metric.LooksDevice, metric.LooksOther}

// steps says where a step of the trainer that waits most goes.
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
	b.split(r)
	if r.noLoader {
		b.workerless(r)
		b.besideMain(r)
		if r.hook == nil && b.ev.Facts.Aside == "" {
			b.miss("the trainer has no workers (num_workers=0): it loads between its steps, and a load looks like any other work",
				b.fromInside(), metric.InputWait, metric.FreeStepTime)
		}
		return
	}
	b.set(metric.InputWait, r.wait, r.basis)
	b.keep(metric.InputWait, r.waiting, r.joint)
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
	if r.wait.N == 0 || r.hook != nil {
		return
	}
	free := each(len(b.spans), func(i int) float64 { return b.length[i] * (1 - divide(r.waiting[i], r.joint[i])) })
	if look := b.rec.Header.LookInterval.Seconds(); sum(free) < look {
		b.miss("the trainer was found waiting for data in every look: how long a step takes without the wait cannot be told", "", metric.FreeStepTime)
		return
	}
	s := stat.Ratio(free, r.batches)
	if s.N > 0 && s.Center > 0 { // one center for the rate and for what is made of it
		s = scaled(s, (1-r.wait.Center)/r.rate.Center/s.Center)
	}
	b.set(metric.FreeStepTime, s, r.basis)
}

// split divides the trainer's time into host and device. A running main thread is the host's, unless the GPU is busy meanwhile: CUDA's
// synchronisation spins on a CPU. The GPU's busy time is laid over the time the main thread sleeps outside its loader first, then over the
// time it runs, and last over the time it waits for a batch, which stays input wait.
func (b *builder) split(r *rank) {
	n := len(b.spans)
	running := b.states(r.entity, metric.LooksRunning)
	asleep := b.states(r.entity, asleepOutside...)
	polls := b.states(r.entity, metric.LooksQueuePoll, metric.LooksPipeRead) // receiving a batch is waiting for it
	host, device := make([]float64, n), make([]float64, n)
	busy, basis := b.gpus.busy, b.gpus.basis
	if busy == nil {
		busy, basis = r.deviceBusy(), metric.Measured
	}
	hostBasis := metric.Inferred
	if busy == nil {
		basis, hostBasis = metric.Inferred, metric.Measured
	}
	for i := range host {
		run, out := divide(running[i], r.looks[i]), divide(asleep[i], r.looks[i])
		wait := 0.0
		if !r.noLoader && r.joint != nil {
			wait = divide(r.waiting[i], r.joint[i])
			start := r.startRunning(b, i)
			run = max(run-start-divide(r.receiving[i], r.looks[i]), 0)
			// With a pinning thread the wait for a batch is a timed lock wait of the main thread, and no time outside the loader.
			out -= max(divide(r.polled[i], r.joint[i])-divide(polls[i], r.looks[i]), 0)
			out -= max(wait-divide(r.polled[i]+r.receiving[i], r.joint[i])-start, 0)
		}
		out = max(out, 0)
		if r.hook != nil {
			wait, run, out = b.hookSplit(r, i, run, out)
		}
		if busy != nil {
			spun := min(run, max(busy[i]-out, 0))
			run -= spun
			out = max(min(busy[i], 1-wait-run), 0)
		}
		host[i], device[i] = run*b.length[i], out*b.length[i]
	}
	left := 1.0
	if !r.noLoader || r.hook != nil {
		left -= hold(r.wait.Center)
	}
	b.set(metric.HostTime, capped(stat.Ratio(host, b.length), left), hostBasis)
	if b.gpus.none && busy == nil { // whatever the main thread sleeps for, it is not a GPU
		b.miss(offGPU, "", metric.DeviceTime)
		return
	}
	taken, _ := b.center(metric.HostTime)
	b.set(metric.DeviceTime, capped(stat.Ratio(device, b.length), left-taken), basis)
	b.keep(metric.DeviceTime, device, b.length)
}

// capped holds a share to what the others leave. They are of the same looks, but where readings are missing each is of the windows that
// have its own.
func capped(s stat.Summary, left float64) stat.Summary {
	if s.Center > left {
		s.Lo, s.Hi, s.Center = min(s.Lo, max(left, 0)), max(left, 0), max(left, 0)
	}
	return s
}

// startRunning returns the share of a window in which the main thread ran while it started workers.
func (r *rank) startRunning(b *builder, i int) float64 {
	looks := 0.0
	for _, s := range r.starts {
		part := intersect(b.spans[i:i+1], span{s.born, s.first})
		g, _ := b.h.of(metric.LooksRunning, r.entity).grow(part)
		looks += g[0]
	}
	if r.looks[i] <= 0 {
		return 0
	}
	return min(looks, r.starting[i]) / r.looks[i]
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

// activityBytes is the growth of rchar between two readings below which a trainer without workers is not taken to be reading data.
const activityBytes = 4096

// workerless bounds the time a trainer without workers spends loading: its main thread runs or waits for storage between two readings
// over which it read data.
func (b *builder) workerless(r *rank) {
	reads := b.h.of(metric.ProcReadChars, r.entity)
	if reads == nil {
		return
	}
	faults := b.h.of(metric.ProcMajFaults, r.entity)
	var active []span
	for i := 1; i < len(reads.at); i++ {
		step := span{reads.at[i-1], reads.at[i]}
		faulted, _ := faults.grown(step)
		opened := 0.0
		for _, t := range b.h.all(metric.DatasetOpens) {
			g, _ := t.grown(step)
			opened += g
		}
		if reads.v[i]-reads.v[i-1] >= activityBytes || faulted >= 1 || opened >= 1 {
			active = append(active, step)
		}
	}
	loads := make([]float64, len(b.spans))
	for _, d := range []metric.Desc{metric.LooksRunning, metric.LooksDisk, metric.LooksFileRead, metric.LooksFileOpen} {
		t := b.h.of(d, r.entity)
		for i, w := range b.spans {
			for _, a := range active {
				if a.to > w.from && a.from < w.to {
					g, _ := t.grown(span{max(a.from, w.from), min(a.to, w.to)})
					loads[i] += g
				}
			}
		}
	}
	b.share(metric.InWorkerless, loads, r.looks, metric.Inferred)
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
