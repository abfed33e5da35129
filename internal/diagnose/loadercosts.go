package diagnose

import (
	"fmt"
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
)

// What handing a batch over costs beside making it, where the job was not seen to do it often enough to tell:
// measured with PyTorch 1.13 and 2.14 on Debian, batches of one or two tensors. A figure that is observed stands in
// place of these.
const (
	handoverCPU = 0.6e-3 // s of a worker per batch
	// s of the trainer per batch: receiving one and asking for the next; 0.7 ms in 1.13, 1.0 ms in 2.14
	takingCPU    = 0.85e-3
	dispatchPart = 0.3 // of this: asking for the next
	// s that it takes at most: of workers that compute in Python, whose own thread passes the descriptors and waits
	// for their lock, 1.5 to 2.9 ms in 1.13, 2.6 to 4.4 in 2.15, one or two tensors (2-core Xeon)
	slowTaking = 4.4e-3
	mostTaking = 3e-3  // s; a wait that is longer, however rarely, is for a batch that was not ready
	readyWaits = 0.05  // quantile of the waits that is a batch which was ready, where the loader is ahead at times
	resumeCPU  = 6e-3  // s to begin an epoch with persistent workers: 4 to 8 ms
	forkCPU    = 12e-3 // s of the trainer per forked worker: 8 to 15 ms
	joinTime   = 8e-3  // s of CPU of a worker to end: 7 to 10 ms
	// s of CPU of a worker that does not begin as a copy of its trainer: 1.1 to 2.2 s, the import of torch
	importCPU = 1.6
)

// forks reports whether workers begin as copies of their trainer, or would: multiprocessing's default on Linux is fork,
// and forkserver from Python 3.14 on.
func forks(e *evidence.Evidence) bool {
	switch e.Facts.StartMethod {
	case "fork":
		return true
	case "spawn", "forkserver":
		return false
	}
	var major, minor int
	_, _ = fmt.Sscanf(e.Reported().Python, "%d.%d", &major, &minor)
	return major < 3 || major == 3 && minor < 14
}

// overheads takes what handing a batch over costs. Seen from outside, a worker's CPU per batch holds its part already.
func (l *Loader) overheads(e *evidence.Evidence) {
	taking, drawing := takingCPU, orZero(e, metric.DrawTime)
	low, ok := stat.ClassQuantile(e.Spread(metric.HookWaitSpread), readyWaits)
	if cpu, told := e.Get(metric.TakeCPU); told && !l.Pin {
		taking = max(cpu.Center-drawing, 0)
	} else if ok && low > 0 && low-drawing <= mostTaking && l.Setting.Workers > 0 {
		taking = max(low-drawing, 0)
	} else {
		l.assumed = append(l.assumed, "what taking a batch costs")
		if l.Setting.Workers == 0 {
			l.Untried = slowTaking - taking
		}
	}
	l.Dispatch = dispatchPart*taking + drawing
	l.Receive = (1 - dispatchPart) * taking
	if l.Setting.Workers > 0 {
		l.Sending = min(handoverCPU, l.CPU.Center)
	}
	if making, ok := e.Get(metric.FetchCPU); ok && Hooked(e) {
		beside := max(l.CPU.Center-making.Center, 0)
		l.Handover = max(handoverCPU-beside, 0)
		if l.Setting.Workers > 0 { // what the main thread waits for makes batches, and does so without workers too
			threads, running := orZero(e, metric.WorkerOwnThreads), orZero(e, metric.WorkerRunning)
			l.Sending = beside
			if threads > 0 {
				l.Sending *= running / (running + threads)
			}
		}
	}
	l.Resume = resumeCPU
}

// When others are taken to be in the way, and when the job's own delays tell by how much.
const (
	leastOthers = 0.25 // cores; below it what delays the job is mostly itself
	leastOnCPU  = 0.02 // cores of a worker or trainer; below it its delays are those of waking up
	mostOthers  = 8.0  // threads per core; a busier machine is no place to predict anything
)

// cores takes on what cores the job computes and beside how much of other programs. How long its workers were ready
// to run without a CPU, for each second that they had one, says how many threads shared the cores; where that is not
// known, what the others used of them does. The cores that the others leave, if they keep what they have, are at
// least those that the job was seen to use.
func (l *Loader) cores(e *evidence.Evidence) {
	usable, ok := e.Get(metric.UsableCPUs)
	if !ok || usable.Center <= 0 {
		return
	}
	l.CPUs = l.besideOthers(usable.Summary.Scaled(1 / l.ranks))
	if full, ok := e.Get(metric.FullCPUs); ok {
		l.FullCPUs = l.besideOthers(full.Summary.Scaled(1 / l.ranks)).Center
	}
	other, ok := e.Get(metric.OtherCPU)
	if !ok {
		return
	}
	present, ok := e.Get(metric.PresentCPUs)
	job, ok2 := e.Get(metric.JobCPU)
	left := usable.Summary
	if free := present.Center - other.Center; ok && free < usable.Center {
		left.Center = min(max(free, job.Center, 0), usable.Center)
	}
	l.left = l.besideOthers(left.Scaled(1 / l.ranks)).Center
	if ok && present.Center > usable.Center { // some of them compute elsewhere; which is not reported
		other.Center = max(other.Center-(present.Center-usable.Center), 0)
	}
	l.Others = max(other.Center, 0)
	running, delay := metric.WorkerCPU, metric.WorkerRunDelay
	if l.Setting.Workers == 0 {
		running, delay = metric.MainCPU, metric.MainRunDelay
	}
	cpu, ok3 := e.Get(running)
	late, ok4 := e.Get(delay)
	if other.Center >= leastOthers && ok2 && ok3 && ok4 && cpu.Center > leastOnCPU {
		slowed := 1 + late.Center/cpu.Center
		l.Others = max(usable.Center*slowed-job.Center*slowed, l.Others)
	}
	l.Others = min(l.Others, mostOthers*usable.Center) / l.ranks
}

// pace is how fast each of n threads that compute gets on, beside those of others, 0..1.
func (l *Loader) pace(n float64) float64 {
	if l.CPUs.N == 0 || l.CPUs.Center <= 0 {
		return 1
	}
	return min(1, l.CPUs.Center/(n+l.Others))
}

// trainer takes what the trainer computes in a step: its CPU time without loading and without taking batches. Of
// that, what only waits for a GPU in a busy loop is nobody's bound.
func (l *Loader) trainer(e *evidence.Evidence, rate float64) {
	all, ok := trainerCPU(e)
	if !ok || rate <= 0 {
		l.Spin = 0
		return
	}
	own := all.Scaled(1 / rate)
	taking := l.Receive + l.Dispatch
	if cpu, told := e.Get(metric.TakeCPU); told {
		taking = cpu.Center
	} else if l.Setting.Workers == 0 {
		taking = l.CPU.Center + orZero(e, metric.DrawTime)
	}
	taking += orZero(e, metric.SamplerTime) / rate
	left := max(own.Center-taking, 0)
	l.Spin = min(l.Spin, left)
	if own.Center <= 0 {
		return
	}
	l.TrainerCPU = own.Scaled(left / own.Center)
	// What the trainer was ready for without a CPU is not the step's own; the simulation adds it where it arises. What
	// loading causes of that, the free step is without already. Of a step on a device it is not known whether the
	// device waited for the rest.
	if delay, ok := TrainerDelay(e); ok && l.FreeStep.Center > 0 && !l.StepRange {
		late := max(delay*left/own.Center-leadingStep(e).Delay.Likely, 0) / rate
		l.FreeStep = l.FreeStep.Scaled(max(l.FreeStep.Center-late, min(left, l.FreeStep.Center)) / l.FreeStep.Center)
	}
}

// How much a batch's time is taken to vary where it was not timed batch by batch.
const (
	leastVariation = 0.05
	mostVariation  = 1 // exponential times, beyond which a window's mean is too uncertain to tell
)

// spreads takes how batches vary.
func (l *Loader) spreads(e *evidence.Evidence, rate float64) {
	classes := l.usual
	if classes == nil {
		classes = e.Spread(metric.HookFetchSpread)
	}
	if s, ok := predict.SpreadOfClasses(classes); ok {
		l.Fetch = s
		return
	}
	l.assumed = append(l.assumed, "how batches vary")
	l.vary(variation(e))
}

// vary assumes that batches vary by so much, as a part of their mean.
func (l *Loader) vary(variation float64) {
	l.variation = max(variation, leastVariation)
	l.Fetch = predict.Lognormal(l.variation)
}

// variation is the coefficient of variation of a batch's time that the windows allow: a mean of n batches varies by the
// square root of n less than one batch does. In a window a batch takes what its workers are busy for it. Windows in
// which workers start, or at whose end batches are not counted yet, are outliers and say nothing of batches; so the
// spread is the median absolute deviation. Batches that do not vary at all are counted unevenly, too: of a time that
// holds n and a part f of one, n or n + 1, which varies by f (1 - f), a sixth on average.
func variation(e *evidence.Evidence) float64 {
	values := slices.DeleteFunc(e.Windows(metric.WorkerBusyBatch), func(x float64) bool { return x <= 0 })
	steps, ok := e.Steps()
	if len(values) < 3 || !ok || steps <= 0 {
		return 0
	}
	middle, spread := stat.Spread(values)
	per := max(steps/float64(len(values)), 1) // batches of a window
	window := spread / middle                 // of its mean
	return min(math.Sqrt(max(window*window*per-1/(6*per), 0)), mostVariation)
}

// waitsForStorage is the part of Wait that is for storage.
func (l *Loader) waitsForStorage(e *evidence.Evidence) float64 {
	at := func(ds ...metric.Desc) (sum float64) {
		for _, d := range ds {
			sum += stat.Share(orZero(e, d))
		}
		return sum
	}
	stored := at(metric.WorkerStorage, metric.WorkerOpenWait)
	all := stored + at(metric.WorkerFileLock, metric.WorkerHandOver, metric.WorkerOtherWait)
	all += at(metric.WorkerLock)
	if l.Lock.N > 0 { // what they wait for the lock that they share is no part
		shared, _ := SharedLock(e)
		all -= stat.Share(shared.Center)
	}
	if all <= 0 {
		return 0
	}
	return stored / all
}

// evaluating is what evaluations take; nothing where it is not reported.
func evaluating(e *evidence.Evidence) evidence.Evaluating {
	if x := e.Reported().Evaluating; x.Time < 1 {
		return x
	}
	return evidence.Evaluating{}
}

// trainerCPU is the CPU time of one trainer in a second of training: without what it computes in evaluations, as
// rates are.
func trainerCPU(e *evidence.Evidence) (stat.Summary, bool) {
	all, ok := e.Get(metric.TrainerCPU)
	if !ok {
		return stat.Summary{}, false
	}
	s := all.Summary.Scaled(1 / max(orZero(e, metric.Ranks), 1))
	if x := evaluating(e); x.Time > 0 && s.Center > 0 {
		s = s.Scaled(max(s.Center-x.CPU, 0) / s.Center / (1 - x.Time))
	}
	return s, true
}

// TrainerDelay is how long, in a second of training, the trainer's main thread was ready to run without a CPU.
func TrainerDelay(e *evidence.Evidence) (float64, bool) {
	delay, ok := e.Get(metric.MainRunDelay)
	x := evaluating(e)
	return max(delay.Center-x.Delay, 0) / (1 - x.Time), ok
}
