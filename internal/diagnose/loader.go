package diagnose

import (
	"math"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// Loader is the watched loader as the model sees it, with what is needed to say its results in the job's own unit.
type Loader struct {
	predict.Loader
	Metric, Unit string       // what effects are told in: samples_per_s, batches_per_s or relative_throughput
	Now          stat.Summary // in that unit
	scale        float64      // that unit per batch
	ranks        float64      // trainers that share the machine
	beside       beside       // other loaders of each step
}

// Relative is the Metric of a model whose batches could not be counted: its unit of time is one step as it is now, its result a factor.
const Relative = "relative_throughput"

// Loader returns the model of this job's loader; false where its costs are unknown. Without workers, and where batches do not pass
// through shared memory, no batches can be counted from outside, and the model is relative; the hook counts them all.
func (p *Pass) Loader() (Loader, bool) { return modelOf(p.Evidence) }

func modelOf(e *evidence.Evidence) (Loader, bool) {
	l := Loader{Loader: predict.Loader{CPUs: cores(e)}, scale: 1}
	number := func(d metric.Desc) float64 { v, _ := e.Get(d); return v.Center }
	l.UsableCPUs, l.BatchBytes, l.WorkerBytes = number(metric.UsableCPUs), number(metric.BatchBytes), number(metric.WorkerPrivate)
	l.ShmFree, l.Available = number(metric.ShmFree), number(metric.Available)
	l.ranks = number(metric.Ranks)
	l.beside = besides(e)
	if n := l.ranks; n > 1 {
		l.UsableCPUs, l.ShmFree, l.Available = l.UsableCPUs/n, l.ShmFree/n, l.Available/n
	}
	if e.Facts.Prefetch != nil {
		l.Prefetch = *e.Facts.Prefetch
	}
	if Workerless(e) {
		return workerless(e, l)
	}
	workers, ok := e.Get(metric.NumWorkers)
	if batches, counted := e.Get(metric.BatchesPerS); ok && !(counted && batches.Center > 0) {
		return uncounted(e, l, workers.Center)
	}
	step, ok2 := e.Get(metric.FreeStepTime)
	cpu, ok3 := e.Get(metric.WorkerCPUBatch)
	batches, ok4 := e.Get(metric.BatchesPerS)
	if !ok || !ok2 || !ok3 || !ok4 || batches.Center <= 0 {
		return Loader{}, false
	}
	l.Workers = int(workers.Center + 0.5)
	l.FreeStep, l.CPU = l.beside.step(step.Summary), cpu.Summary
	if v, ok := e.Get(metric.WorkerWaitBatch); ok {
		l.Wait = v.Summary
	}
	l.agree(e, workers.Center, batches.Center)
	if s, ok := trainerCPU(e); ok {
		l.TrainerCPU = scaled(s, 1/batches.Center)
	}
	l.Pause = pauses(e)
	if v, ok := e.Get(metric.StoragePerBatch); ok && v.Center > 0 {
		l.FromStore = v.Summary
		l.Storage = ceiling(e)
	}
	l.inRate(e, batches)
	return l, true
}

// agree scales the costs of a batch to what the workers' shares of time and the rate of batches say of them. The two are medians over
// different windows; where a rate varies much they drift apart, and the model must begin from what is seen now.
func (l *Loader) agree(e *evidence.Evidence, workers, rate float64) {
	if Hooked(e) {
		return // the hook times each batch; shares of workers are of evaluations too, the rate is of training alone
	}
	busy, ok := e.Get(metric.WorkerBusy)
	cost := l.CPU.Center + l.Wait.Center
	delay, ok2 := e.Get(metric.WorkerRunDelay)
	if !ok || !ok2 || cost <= 0 {
		return
	}
	seen := workers * max(busy.Center-delay.Center, 0) / rate
	const close = 1.25 // within a quarter they agree as well as intervals of such shares do
	if factor := seen / cost; factor > 0 && (factor > close || factor < 1/close) {
		l.CPU, l.Wait = scaled(l.CPU, factor), scaled(l.Wait, factor)
	}
}

// uncounted is a loader with workers whose batches could not be counted. Of one unit of time the trainer waits a part; what the workers
// do in that unit makes as much as the trainer took in it.
func uncounted(e *evidence.Evidence, l Loader, workers float64) (Loader, bool) {
	wait, ok := e.Get(metric.InputWait)
	cpu, ok2 := e.Get(metric.WorkerCPU)
	busy, ok3 := e.Get(metric.WorkerBusy)
	running, ok4 := e.Get(metric.WorkerRunning)
	if !ok || !ok2 || !ok3 || !ok4 || wait.Center >= 1 || workers < 1 {
		return Loader{}, false
	}
	l.Workers = int(workers + 0.5)
	l.FreeStep = rest(wait.Summary)
	l.CPU = scaled(cpu.Summary, workers)
	l.Wait = stat.Summary{Center: workers * max(busy.Center-running.Center, 0), N: busy.N}
	l.Wait.Lo, l.Wait.Hi = l.Wait.Center, l.Wait.Center
	ranks := 1.0
	if n, ok := e.Get(metric.Ranks); ok && n.Center > 1 {
		ranks = n.Center
	}
	if v, ok := e.Get(metric.TrainerCPU); ok {
		l.TrainerCPU = scaled(v.Summary, 1/ranks)
	}
	if v, ok := e.Get(metric.StorageBytes); ok && v.Center > 0 {
		l.FromStore, l.Storage = scaled(v.Summary, 1/ranks), ceiling(e)
	}
	l.Metric, l.Unit, l.Now = Relative, string(metric.Count), stat.Exact(1)
	return l, true
}

// rest is what a share leaves of 1.
func rest(s stat.Summary) stat.Summary {
	s.Center, s.Lo, s.Hi = 1-s.Center, max(1-s.Hi, 0), min(1-s.Lo, 1)
	return s
}

// workerless is a loader without workers: of one unit of time, the load share goes to loading and the rest to the step. Where the hook
// counted, the unit is the second.
func workerless(e *evidence.Evidence, l Loader) (Loader, bool) {
	if known, ok := countedInside(e, l); ok {
		return known, true
	}
	load, ok := InputWait(e)
	if !ok || !(load.Center > 0 && load.Center < 1) {
		return Loader{}, false
	}
	wait := 0.0
	if v, ok := e.Get(metric.MainStorage); ok {
		wait = min(unitShare(v.Center), load.Center)
	}
	l.FreeStep = rest(load.Summary)
	l.CPU = scaled(load.Summary, 1-wait/load.Center)
	l.stepCPU(e, 1)
	l.Wait = scaled(load.Summary, wait/load.Center)
	l.Metric, l.Unit, l.Now = Relative, string(metric.Count), stat.Exact(1)
	return l, true
}

// countedInside is a loader without workers whose batches the hook counted and whose loading it timed.
func countedInside(e *evidence.Evidence, l Loader) (Loader, bool) {
	step, ok := e.Get(metric.FreeStepTime)
	fetch, ok2 := e.Get(metric.FetchTime)
	batches, ok3 := e.Get(metric.BatchesPerS)
	if !Hooked(e) || !ok || !ok2 || !ok3 || step.Center <= 0 || fetch.Center <= 0 || batches.Center <= 0 {
		return Loader{}, false
	}
	onCPU := 1.0 // without a figure, loading is taken to compute: then more workers than CPUs are never advised
	if cpu, ok := e.Get(metric.FetchCPU); ok {
		onCPU = unitShare(cpu.Center / fetch.Center)
	}
	l.FreeStep, l.CPU, l.Wait = l.beside.step(step.Summary), scaled(fetch.Summary, onCPU), scaled(fetch.Summary, 1-onCPU)
	l.stepCPU(e, batches.Center)
	l.inRate(e, batches)
	return l, true
}

// stepCPU is what the step itself computes where its trainer loads as well: a model on the CPU fills cores that workers would need.
func (l *Loader) stepCPU(e *evidence.Evidence, rate float64) {
	all, ok := trainerCPU(e)
	if !ok || all.Center <= 0 {
		return
	}
	own := scaled(all, 1/rate)
	l.TrainerCPU = scaled(own, max(own.Center-l.CPU.Center, 0)/own.Center)
}

// inRate sets what effects are told in: samples per second where their number is known, else batches.
func (l *Loader) inRate(e *evidence.Evidence, batches evidence.Value) {
	l.Metric, l.Unit, l.Now = metric.BatchesPerS.Name, string(metric.BatchesPerS.Unit), batches.Summary
	if v, ok := e.Get(metric.SamplesPerS); ok && v.Center > 0 {
		l.Metric, l.Unit, l.Now, l.scale = metric.SamplesPerS.Name, string(metric.SamplesPerS.Unit), v.Summary, v.Center/batches.Center
	}
}

// cores is what one trainer and its workers can get: the usable cores, less those of the machine that others keep busy. That is the
// lower edge, and the job was seen to use some beside them, so it is no less than that. The upper edge is the fair share the kernel
// would give one worker per core beside others that run as much as they do now.
func cores(e *evidence.Evidence) stat.Summary {
	usable, ok := e.Get(metric.UsableCPUs)
	if !ok || usable.Center <= 0 {
		return stat.Summary{}
	}
	s := usable.Summary
	present, ok := e.Get(metric.PresentCPUs)
	other, ok2 := e.Get(metric.OtherCPU)
	if ok && ok2 && present.Center-other.Center < usable.Center {
		job, _ := e.Get(metric.JobCPU)
		workers := math.Ceil(usable.Center)
		fair := usable.Center * workers / (workers + max(other.Center, 0))
		s.Lo = min(max(present.Center-other.Center, job.Center, 0), usable.Center)
		s.Hi = max(s.Lo, fair)
		s.Center = (s.Lo + s.Hi) / 2
	}
	if n, ok := e.Get(metric.Ranks); ok && n.Center > 1 {
		s = scaled(s, 1/n.Center)
	}
	return besides(e).left(s)
}

// ceiling is the bytes per second the job's cgroup lets it read; unknown where it sets no limit.
func ceiling(e *evidence.Evidence) stat.Summary {
	if v, ok := e.Get(metric.ReadBPSLimit); ok {
		return v.Summary
	}
	iops, ok := e.Get(metric.ReadIOPSLimit)
	reads, ok2 := e.Get(metric.DiskReadRate)
	bytes, ok3 := e.Get(metric.DiskByteRate)
	if ok && ok2 && ok3 && reads.Center > 0 {
		return scaled(iops.Summary, bytes.Center/reads.Center)
	}
	return stat.Summary{}
}

func scaled(s stat.Summary, by float64) stat.Summary {
	s.Center, s.Lo, s.Hi = s.Center*by, s.Lo*by, s.Hi*by
	return s
}

// Cheaper is the loader when loading a batch takes this much less: cut is the part of its CPU time and waiting that is saved, 0..1.
func (l Loader) Cheaper(cut float64) Loader {
	keep := 1 - unitShare(cut)
	l.CPU, l.Wait = scaled(l.CPU, keep), scaled(l.Wait, keep)
	return l
}

// Trainers is how many trainers of the job were watched, each with a loader like this one; at least one.
func (l Loader) Trainers() int { return max(int(math.Round(l.ranks)), 1) }

// Alone is the loader with all usable cores of the job to itself; ranks share them.
func (l Loader) Alone(usable float64) Loader {
	l.CPUs = stat.Exact(usable / max(l.ranks, 1))
	return l
}

// Unthrottled is the loader without the read limit in force: for changes that raise it, or that read from elsewhere.
func (l Loader) Unthrottled() Loader {
	l.Storage = stat.Summary{}
	return l
}

// Effect tells what w workers would bring. A change of the loader is never predicted to lose: the interval starts at what is there now.
func (l Loader) Effect(w int) *report.Effect {
	p, ok := l.Rate(w)
	if !ok {
		return nil
	}
	return l.effect(p)
}

// EffectBetween tells what becomes of the rate when between lo and hi of the cost of a batch is saved, which is as closely as it can be said.
func (l Loader) EffectBetween(lo, hi float64) *report.Effect {
	low, ok := l.Cheaper(lo).Rate(l.Workers)
	high, ok2 := l.Cheaper(hi).Rate(l.Workers)
	if !ok || !ok2 {
		return nil
	}
	high.Rate.Lo, high.Rate.Center = low.Rate.Lo, (low.Rate.Center+high.Rate.Center)/2
	return l.effect(high)
}

func (l Loader) effect(p predict.Prediction) *report.Effect {
	now := l.Now.Center
	hi := max(p.Rate.Hi*l.scale, now)
	lo := min(max(p.Rate.Lo*l.scale, now), hi)
	limit := limitText[p.Limit]
	return &report.Effect{Metric: l.Metric, Unit: l.Unit, Before: now, After: min(max(p.Rate.Center*l.scale, lo), hi), Lo: lo, Hi: hi,
		Basis: report.Modelled, Limit: limit}
}

// limitText says what bounds a prediction.
var limitText = map[predict.Term]string{
	predict.Step:    "the training step itself",
	predict.Workers: "the workers",
	predict.CPUs:    "the usable CPUs",
	predict.Storage: "the storage limit",
	predict.Serial:  "loading and training taking turns",
}
