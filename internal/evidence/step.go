package evidence

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

// trainer takes how the leading trainer differs from the others, and what its main thread does.
func (b *builder) trainer(r *rank) {
	var stalls []float64
	busy, counted := 0.0, 0.0
	for _, other := range b.ranks[min(1, len(b.ranks)):] {
		if other.step == nil {
			continue
		}
		stalls = append(stalls, other.step.Stall.Likely)
		if other.step.Sight == step.Counted {
			busy, counted = busy+other.step.Device.Likely, counted+1
		}
	}
	var spread figure
	if middle, ok := stat.Quantile(stalls, 0.5); ok && r.step != nil {
		spread = exact(max(r.step.Stall.Likely-middle, 0)).by(metric.Inferred)
	}
	stopped := b.ratio(b.Grow(r.Entity, metric.ThreadStopped), r.samples)
	if len(b.Halts) > 0 { // the windows leave out the halts, which this is about
		stopped = exact(stat.Divide(b.Grown(r.Entity, b.Steady, metric.ThreadStopped),
			b.Grown(r.Entity, b.Steady, metric.ThreadSamples)))
	}
	b.take(metric.Ranks, positive(float64(len(b.ranks))), metric.ThreadSamples)
	b.take(metric.RankStallSpread, spread, metric.LoaderWaiting, metric.LoaderSamples, metric.GPUUtil)
	b.take(metric.FeedingRanks, b.feedingRanks(), metric.LoaderTensors, metric.ThreadQueuePoll)
	b.take(metric.RestBusy, exact(stat.Divide(busy, counted)).by(b.gpus.basis), metric.GPUUtil)
	b.take(metric.NumWorkers, b.numWorkers(r), metric.LoaderWorkers)
	b.take(metric.MainCPU, b.rate(metric.ProcMainCPU, r.Entity), metric.ProcMainCPU)
	b.take(metric.MainRunDelay, b.rate(metric.ProcRunDelay, r.Entity), metric.ProcRunDelay)
	b.take(metric.MainReadBytes, b.mainReads(r), metric.ProcReadChars)
	storage := b.Grow(r.Entity, metric.ThreadDisk, metric.ThreadFileRead)
	b.take(metric.MainStorage, b.ratio(storage, r.samples), metric.ThreadDisk)
	b.take(metric.TrainerStopped, stopped, metric.ThreadStopped)
}

// mainReads is what the trainer itself reads. All that a child has read in its life is counted as its parent's once the
// parent has waited for its end (kernel/exit.c, wait_task_zombie), so where a worker ended the two cannot be determined
// apart.
func (b *builder) mainReads(r *rank) figure {
	for _, w := range b.Processes.OfAll(r.Process) {
		if w.Died > b.Steady.From-watched.LateNotice && w.Died < b.Steady.To+watched.LateNotice {
			return none("a worker ended in the window, and the kernel counts all it had read as read by the trainer",
				"")
		}
	}
	return b.rate(metric.ProcReadChars, r.Entity)
}

// rates takes batches per second, what follows from it, and the wait for them.
func (b *builder) rates(r *rank) {
	samples, n, reported := figure{}, float64(b.Rec.Header.BatchSize), []float64(nil)
	if r.hook != nil {
		reported = r.hook.Training.Of(metric.HookSamples)
		if size := r.hook.Training.Call.BatchSize; n <= 0 && size != nil {
			n = float64(*size)
		}
	}
	switch {
	case stat.Sum(reported) > 0:
		samples = b.ratio(reported, r.clock)
	case r.rate.N > 0 && n > 0:
		samples = summary(r.rate.Scaled(n)).by(metric.Inferred).over(stat.Times(r.batches, n), r.clock)
	case r.rate.N > 0 && r.hook == nil:
		samples.why = Reason{"the batch size is not known", "give it with --batch-size"}
	}
	wait, loads := summary(r.wait).by(r.basis).over(r.waited, r.watched), figure{}
	switch {
	case r.hook != nil && r.hook.Training.LoadsItself(): // what is bounded from outside is exact here
		loads.Summary = r.wait
	case r.hook != nil:
	case r.step == nil:
		wait = figure{}
	case r.noLoader: // what it waits is a range, and no wait
		wait, loads = figure{}, wait
	}
	b.perBatch(r, metric.BatchesPerS, summary(r.rate).over(r.batches, r.clock))
	b.perBatch(r, metric.StepTime, summary(inverse(r.rate)).over(r.clock, r.batches))
	b.perBatch(r, metric.SamplesPerS, samples)
	b.perBatch(r, metric.FreeStepTime, b.freeStep(r), metric.LoaderWaiting)
	b.take(metric.InputWait, wait, metric.LoaderWaiting, metric.LoaderSamples, metric.ThreadQueuePoll)
	b.take(metric.InWorkerless, loads, metric.ProcReadChars, metric.ThreadRunning)
}

// freeStep is the step if data were free.
func (b *builder) freeStep(r *rank) figure {
	if r.step == nil || r.rate.N == 0 {
		return figure{}
	}
	if every := b.Rec.Header.SampleInterval.Seconds(); r.hook == nil && !r.noLoader &&
		(1-r.wait.Center)*stat.Sum(b.Length) < every {
		return none("the trainer was found waiting for data in every sample: how long a step takes without the wait "+
			"is unknown", "")
	}
	f := r.step.Free
	if r.step.Sight != step.NoDevice || r.noLoader || r.waited == nil || r.drawing.Hi > 0 {
		return summary(stat.Summary{Center: f.Likely / r.rate.Center, Lo: r.step.Promised / r.rate.Center,
			Hi: f.Hi / r.rate.Center, Confidence: modelConfidence, N: r.rate.N}).by(r.basis)
	}
	// Both from the same windows: their noise has a part in common.
	s := b.Quotient(stat.Each(len(b.Spans), func(i int) float64 {
		return r.clock[i] * (1 - stat.Divide(r.waited[i], r.watched[i]))
	}), r.batches)
	if s.N == 0 || s.Center <= 0 {
		return figure{}
	}
	// One center for the rate and for what is made of it.
	return summary(s.Scaled(max(f.Likely, 0) / r.rate.Center / s.Center)).by(r.basis)
}

// steps takes where a step of the leading trainer goes.
func (b *builder) steps(r *rank) {
	var stall, headroom, hostTime, device, wait, copies figure
	if s := r.step; s != nil {
		stall, headroom, hostTime = b.modelled(s.Stall), b.modelled(s.Headroom()), b.modelled(s.Host)
		if s.Sight == step.NoDevice {
			stall.Basis, hostTime.Basis = r.basis, metric.Measured
		}
		if r.watched != nil {
			stall = stall.over(stat.Each(len(r.watched), func(i int) float64 { // the upper bound
				if r.busy == nil {
					return r.waited[i]
				}
				return min(r.waited[i], (1-r.busy[i])*r.watched[i])
			}), r.watched)
		}
		switch {
		case s.Sight == step.NoDevice && b.gpus.none: // whatever the main thread sleeps for, it is not a GPU
			device.why.Text = offGPU
		case s.Sight == step.Unseen:
			device.why = Reason{"the job has a GPU open, and no counter of it could be read", "pipetune doctor"}
		case s.Sight == step.NoDevice:
			device = b.modelled(s.Device)
		default:
			device, copies = b.modelled(s.Device).by(b.gpus.basis), b.modelled(s.Copies)
		}
		if s.Sight != step.NoDevice {
			wait = b.modelled(s.Blocked)
		}
	}
	b.take(metric.DataStall, stall, metric.LoaderWaiting, metric.LoaderSamples, metric.GPUUtil)
	b.take(metric.Headroom, headroom, metric.LoaderWaiting, metric.LoaderSamples, metric.GPUUtil)
	b.take(metric.HostTime, hostTime, metric.ThreadRunning)
	b.take(metric.GILWait, b.gilWait(r), metric.ThreadGIL)
	b.take(metric.DeviceTime, device, metric.GPUUtil, metric.ThreadSamples)
	b.take(metric.DeviceWait, wait, metric.GPUUtil, metric.HostSamples)
	b.take(metric.CopyTime, copies, metric.GPUUtil, metric.GPUPcieRx)
	if r.hook == nil && r.evaluated != nil {
		b.set(metric.Evaluation, b.ratio(r.evaluated, r.reported).by(metric.Inferred))
		b.set(metric.EvalWait, b.ratio(r.aside, r.reported).by(metric.Inferred))
	}
}

// modelled is what the model of a step says of it.
func (b *builder) modelled(r step.Range) figure {
	return summary(b.summaryOf(r)).by(metric.Inferred)
}

// restarted is what the restarts of a loader's workers cost.
type restarted struct {
	count  figure
	share  figure // of the time, that they took
	lasted figure // how long one of them took
	start  figure // how long the trainer started the workers in one of them
	epoch  figure // from one to the next
}

// restarts takes what the restarts of the workers cost.
func (b *builder) restarts(r *rank) {
	var of restarted
	switch {
	case r.hook == nil:
		of = b.restartsSeen(r)
	case !r.hook.Training.LoadsItself():
		of = b.reportedRestarts(r.hook)
		if of.epoch.N == 0 && !r.hook.Training.Call.Foreign() {
			of.epoch = b.restartsSeen(r).epoch
		}
	}
	b.take(metric.Restarts, of.count, metric.LoaderWorkers)
	b.take(metric.EpochGap, of.share, metric.LoaderSamples, metric.LoaderWorkers)
	b.take(metric.RestartGap, of.lasted, metric.LoaderWorkers)
	b.take(metric.RestartStart, of.start, metric.LoaderWorkers, metric.ThreadSamples)
	b.take(metric.EpochTime, of.epoch, metric.LoaderWorkers)
}

// restartsSeen tells it from births and deaths. No restart in a window in which the workers were watched is a share of
// 0.
func (b *builder) restartsSeen(r *rank) (of restarted) {
	if stat.Sum(r.samples) <= 0 || len(r.workerSet) == 0 {
		return of
	}
	training := b.Length
	if r.evaluated != nil {
		training = stat.Beyond(b.Length, r.evaluated)
	}
	lost, gaps, starts, epochs := make([]float64, len(b.Spans)), []float64{}, []float64{}, []float64{}
	for _, s := range r.starts {
		for i, part := range watched.Intersect(b.Spans, s.Gap()) {
			if !s.Initial {
				lost[i] += part.Length()
			}
		}
	}
	for _, s := range r.restarts {
		gaps, starts = append(gaps, s.Gap().Length()), append(starts, s.StartTime())
	}
	sets := watched.WorkerSets(b.Processes.Of(r.Process))
	for i := 1; i < len(sets) && len(gaps) > 0; i++ {
		if begun, before := sets[i][0].Born, sets[i-1][0].Born; begun < b.Steady.To && stat.Finite(before) {
			epoch := watched.Span{From: before, To: begun}
			epochs = append(epochs, max(epoch.Length()-epoch.Within(r.evaluating), 0))
		}
	}
	of = restarted{count: exact(float64(len(gaps))), share: b.ratio(lost, training), lasted: median(gaps),
		start: meanSeen(starts), epoch: median(epochs)}
	if len(gaps) == 0 {
		never := none("the workers were not replaced while they were watched", "watch for longer than an epoch")
		of.lasted, of.start, of.epoch = never, never, never
	}
	return of
}

// meanSeen is the mean of what was seen of times, which births tell to a clock tick of 10 ms.
func meanSeen(times []float64) figure {
	times = slices.DeleteFunc(times, math.IsNaN)
	if len(times) == 0 {
		return none("too little of the restarts was seen", "watch for longer than an epoch")
	}
	return exact(stat.Sum(times) / float64(len(times)))
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
