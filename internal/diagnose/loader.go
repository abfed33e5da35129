package diagnose

import (
	"math"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
	"github.com/pipetune/pipetune/pkg/report"
)

// Loader is the model of the watched loader: what it costs, and what another setting or another cost would bring,
// reported in the job's own unit. A report has one of it, which rules, plans and the outlook all ask. It is made by
// Pass.Loader.
type Loader struct {
	predict.Pipeline
	Metric, Unit string       // what effects are reported in: samples_per_s, batches_per_s or relative_throughput
	Now          stat.Summary // in that unit
	PerBatch     float64      // of that unit

	Seen predict.Loader // costs as they were seen, with the time without a CPU and with what starting workers took

	ranks   float64 // trainers whose loaders share the machine, at least one
	others  evidence.OtherLoaders
	noWait  float64             // batches per second with free data, at most, as it is reported; 0 = unknown
	left    float64             // cores that other programs leave, where they keep what they have; 0 = unknown
	assumed []string            // inputs that were not measured
	error   predict.Calibration // how far the model itself may be off
	usual   []stat.Class        // how batches vary without the first of each worker; nil where all of them count
	sharing string              // what to mind of more workers; "" nothing

	variation float64 // how much batches are taken to vary, as a part of their mean; 0 where it was measured

	forecaster *predict.Forecaster
	present    predict.Forecast // with the settings as they are, without an interval
}

// Relative is the Metric of a model whose batches could not be counted: its unit of time is one step as it is now,
// its result a factor.
const Relative = report.RelativeThroughput

// LoaderOf makes the model of a watched loader, which is off by as much as own says; false where its costs are too
// little known. Without workers, and where batches do not pass through shared memory, no batches can be counted from
// outside, and the model is relative; the hook counts them all.
func LoaderOf(e *evidence.Evidence, own predict.Calibration) (*Loader, bool) {
	l := &Loader{PerBatch: 1, error: own, sharing: sharing(e), others: e.Facts.OtherLoaders}
	number := func(d metric.Desc) float64 { return orZero(e, d) }
	l.ranks = max(number(metric.Ranks), 1)
	if number(metric.FeedingRanks) == 1 { // one loader has all, less what the other trainers compute
		l.others.CPUs += number(metric.TrainerCPU) * (1 - 1/l.ranks)
		l.ranks = 1
	}
	l.UsableCPUs = number(metric.UsableCPUs) / l.ranks
	l.ShmFree, l.Available = number(metric.ShmFree)/l.ranks, number(metric.Available)/l.ranks
	l.BatchBytes, l.WorkerBytes = number(metric.BatchBytes), number(metric.WorkerPrivate)
	if n := e.Facts.BatchSize; n != nil {
		l.Slices = *n
	}
	if n := e.Reported().Loader.Shards; n != nil {
		l.Shards = *n
	}
	l.Anew = e.Reported().Loader.RecreatedEachEpoch
	l.Pin = e.Facts.PinMemory != nil && *e.Facts.PinMemory && e.Facts.GPUName != ""
	rate, ok := l.costs(e)
	if !ok {
		return nil, false
	}
	l.Seen = l.Pipeline.Loader
	l.cores(e)
	if l.Metric != Relative {
		l.overheads(e)
		l.epochs(e, rate)
	}
	l.trainer(e, rate)
	l.spreads(e, rate)
	l.StorageShare = l.waitsForStorage(e)
	return l, l.settle()
}

// settle prepares predictions, with batches that vary no more than the rate that was seen allows; false where too
// little is known.
func (l *Loader) settle() bool {
	ok := l.simulate()
	for ok && l.variation > leastVariation && l.slower() {
		l.vary(l.variation / 2)
		ok = l.simulate()
	}
	return ok
}

// simulate prepares predictions of what is known of the loader; false where that is too little.
func (l *Loader) simulate() (ok bool) {
	l.forecaster = predict.NewForecaster(l.Pipeline, predict.Options{Calibration: l.error})
	l.present, ok = l.forecaster.Ranged(l.Setting, predict.Remedy{})
	return ok
}

// costs takes what a step and a batch cost, the setting, and the unit of effects. It returns the batches per unit of
// time.
func (l *Loader) costs(e *evidence.Evidence) (rate float64, ok bool) {
	workers, known := e.Get(metric.NumWorkers)
	if !known {
		return 0, false
	}
	l.Setting = predict.Setting{Workers: int(workers.Center + 0.5)}
	if l.Shards > 0 { // the others make no batches
		l.Setting.Workers = min(l.Setting.Workers, l.Shards)
	}
	if n := e.Facts.Prefetch; n != nil {
		l.Setting.Prefetch = *n
	}
	if p := e.Facts.Persistent; p != nil && !l.Anew { // workers live no longer than their loader
		l.Setting.Persistent = *p
	}
	if ordered := e.Reported().Loader.InOrder; ordered != nil {
		l.Setting.Unordered = !*ordered
	}
	batches, counted := e.Get(metric.BatchesPerS)
	counted = counted && batches.Center > 0
	switch {
	case Workerless(e) && counted && l.timedInside(e):
	case Workerless(e):
		return 1, l.inTrainer(e)
	case !counted:
		return 1, l.uncounted(e, workers.Center)
	case !l.counted(e, workers.Center, batches.Center):
		return 0, false
	}
	l.Metric, l.Unit, l.Now = metric.BatchesPerS.Name, string(metric.BatchesPerS.Unit), batches.Summary
	if v, ok := e.Get(metric.SamplesPerS); ok && v.Center > 0 {
		l.Metric, l.Unit = metric.SamplesPerS.Name, string(metric.SamplesPerS.Unit)
		l.Now, l.PerBatch = v.Summary, v.Center/batches.Center
	}
	return batches.Center, true
}

// takeStep takes what a step takes beside loading, where batches are counted; false where that is unknown. Of a step on
// a device the parts are known as well, and how long it takes with free data only as a range.
func (l *Loader) takeStep(e *evidence.Evidence) bool {
	free, ok := e.Get(metric.FreeStepTime)
	l.FreeStep = l.withOthers(free.Summary)
	if ok && l.FreeStep.Lo > 0 {
		l.noWait = 1 / l.FreeStep.Lo
	}
	lead := leadingStep(e)
	batches, counted := e.Get(metric.BatchesPerS)
	if lead.Sight == step.NoDevice || !counted || batches.Center <= 0 {
		return ok
	}
	per := func(r step.Range) stat.Summary {
		return stat.Summary{Center: r.Likely / batches.Center, Lo: r.Lo / batches.Center, Hi: r.Hi / batches.Center,
			N: batches.N}
	}
	l.StepRange, l.Spin, l.Device = true, lead.Spin.Likely/batches.Center, per(lead.Device)
	if own := (1 - lead.Wait.Likely) / batches.Center; own > 0 { // other loaders hold the trainer
		l.TrainerStep = own + l.FreeStep.Center - free.Center
	}
	if lead.Copies.Likely > 0 {
		l.Copy = per(lead.Copies)
	}
	return ok
}

// leadingStep is the step of the trainer that leads; where it is unknown the zero Step, which is on no device.
func leadingStep(e *evidence.Evidence) step.Step {
	if len(e.Ranks) == 0 || e.Ranks[0].Step == nil {
		return step.Step{}
	}
	return *e.Ranks[0].Step
}

// counted is a loader with workers whose batches were counted.
func (l *Loader) counted(e *evidence.Evidence, workers, rate float64) bool {
	cpu, ok := e.Get(metric.WorkerCPUBatch)
	if !l.takeStep(e) || !ok {
		return false
	}
	l.CPU, l.Beside = cpu.Summary, max(orZero(e, metric.WorkerParallel)-1, 0)
	if v, ok := e.Get(metric.WorkerWaitBatch); ok {
		l.Wait = v.Summary
	}
	l.shareLock(e, workers, rate)
	l.Pause = predict.Pause(e.Reported().Pauses) // what interrupts training while its workers go on
	if v, ok := e.Get(metric.StoragePerBatch); ok && v.Center > 0 {
		l.FromStore, l.Storage = v.Summary, ceiling(e).Scaled(1/l.ranks)
	}
	return true
}

// uncounted is a loader with workers whose batches could not be counted. Of one unit of time the trainer waits a
// part; what the workers do in that unit makes as much as the trainer took in it.
func (l *Loader) uncounted(e *evidence.Evidence, workers float64) bool {
	wait, ok := e.Get(metric.InputWait)
	cpu, ok2 := e.Get(metric.WorkerCPU)
	busy, ok3 := e.Get(metric.WorkerBusy)
	_, ok4 := e.Get(metric.WorkerRunning)
	if !ok || !ok2 || !ok3 || !ok4 || wait.Center >= 1 || workers < 1 {
		return false
	}
	l.relative(e, rest(wait.Summary))
	l.CPU, l.Beside = cpu.Summary.Scaled(workers), max(orZero(e, metric.WorkerParallel)-1, 0)
	l.Wait = stat.Exact(workers * max(busy.Center-Computing(e), 0))
	l.Wait.N = busy.N
	l.shareLock(e, workers, 1)
	if v, ok := e.Get(metric.StorageBytes); ok && v.Center > 0 {
		l.FromStore, l.Storage = v.Summary.Scaled(1/l.ranks), ceiling(e).Scaled(1/l.ranks)
	}
	return true
}

// relative makes one step as it is now the unit of time, of which free is without data; on a device the model of the
// step says how much.
func (l *Loader) relative(e *evidence.Evidence, free stat.Summary) {
	if lead := leadingStep(e); lead.Sight != step.NoDevice {
		free.Center, free.Lo, free.Hi = lead.Free.Likely, lead.Free.Lo, lead.Free.Hi
		l.StepRange, l.Spin = true, lead.Spin.Likely
	}
	l.FreeStep = l.withOthers(free)
	l.Metric, l.Unit, l.Now = Relative, string(metric.Count), stat.Exact(1)
}

// rest is what a share leaves of 1.
func rest(s stat.Summary) stat.Summary {
	s.Center, s.Lo, s.Hi = 1-s.Center, max(1-s.Hi, 0), min(1-s.Lo, 1)
	return s
}

// inTrainer is a loader without workers as it is seen from outside: of one unit of time, the load share goes to
// loading and the rest to the step.
func (l *Loader) inTrainer(e *evidence.Evidence) bool {
	load, ok := InputWait(e)
	if !ok || !(load.Center > 0 && load.Center < 1) {
		return false
	}
	wait := 0.0
	if v, ok := e.Get(metric.MainStorage); ok {
		wait = min(stat.Share(v.Center), load.Center)
	}
	l.relative(e, rest(load.Summary))
	l.CPU, l.Wait = load.Summary.Scaled(1-wait/load.Center), load.Summary.Scaled(wait/load.Center)
	return true
}

// timedInside is a loader without workers whose batches the hook counted and whose loading it timed.
func (l *Loader) timedInside(e *evidence.Evidence) bool {
	free, _ := e.Get(metric.FreeStepTime)
	fetch, ok := e.Get(metric.FetchTime)
	if !Hooked(e) || !ok || free.Center <= 0 || fetch.Center <= 0 || !l.takeStep(e) {
		return false
	}
	onCPU := 1.0 // without a figure, loading is taken to compute: then more workers than CPUs are never advised
	if cpu, ok := e.Get(metric.FetchCPU); ok {
		onCPU = stat.Share(cpu.Center / fetch.Center)
	}
	l.CPU, l.Wait = fetch.Summary.Scaled(onCPU), fetch.Summary.Scaled(1-onCPU)
	if wait, ok := e.Get(metric.WorkerWaitBatch); ok { // without what it was ready for without a CPU
		l.Wait = wait.Summary
	}
	return true
}

// ceiling is the bytes per second the job's cgroup lets all of it read; unknown where it sets no limit.
func ceiling(e *evidence.Evidence) stat.Summary {
	most, limited := e.Get(metric.ReadBPSLimit)
	iops, ok := e.Get(metric.ReadIOPSLimit)
	reads, ok2 := e.Get(metric.DiskReadRate)
	bytes, ok3 := e.Get(metric.DiskByteRate)
	if ok && ok2 && ok3 && reads.Center > 0 {
		if as := iops.Summary.Scaled(bytes.Center / reads.Center); !limited || as.Center < most.Center {
			return as
		}
	}
	return most.Summary
}

// Trainers is how many trainers of the job were watched, each with a loader like this one; at least one. Those that
// another one feeds have none.
func (l *Loader) Trainers() int { return int(math.Round(l.ranks)) }

// withOthers is how short a step can get by changes of the one loader: the other DataLoaders of each step, where there
// are several, as in zip, stay as they are.
func (l *Loader) withOthers(free stat.Summary) stat.Summary {
	if by := l.others.LeastStep - free.Center; by > 0 {
		free.Center, free.Lo, free.Hi = free.Center+by, free.Lo+by, free.Hi+by
	}
	return free
}

// leastLeft is the part of the CPUs that is left to a loader, whatever the others use: what they use they also give
// way with.
const leastLeft = 0.2

// besideOthers is what other loaders, and trainers that have none, leave of the CPUs.
func (l *Loader) besideOthers(cpus stat.Summary) stat.Summary {
	for _, x := range []*float64{&cpus.Center, &cpus.Lo, &cpus.Hi} {
		*x = max(*x-max(l.others.CPUs, 0), leastLeft**x)
	}
	return cpus
}
