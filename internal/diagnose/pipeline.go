package diagnose

import (
	"math"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/pkg/report"
)

// What handing a batch over costs beside making it, where the job was not seen to do it often enough to tell: measured with PyTorch 1.13 and
// 2.14 on Debian, batches of one or two tensors. A figure that is observed stands in place of these.
const (
	handoverCPU  = 0.6e-3  // s of a worker per batch
	takingCPU    = 0.85e-3 // s of the trainer per batch: receiving one and asking for the next; 0.7 ms in 1.13, 1.0 ms in 2.14
	dispatchPart = 0.3     // of this: asking for the next
	mostTaking   = 3e-3    // s; a wait that is longer, however rarely, is for a batch that was not ready
	readyWaits   = 0.05    // quantile of the waits that is a batch which was ready, where the loader is ahead at times
	resumeCPU    = 6e-3    // s to begin an epoch with persistent workers: 4 to 8 ms
	forkCPU      = 12e-3   // s of the trainer per forked worker: 8 to 15 ms
	joinTime     = 8e-3    // s of CPU of a worker to end: 7 to 10 ms
	importCPU    = 1.6     // s of CPU of a worker that does not begin as a copy of its trainer: 1.1 to 2.2 s, the import of torch
)

// model is a loader as the simulation sees it, and how its results are told.
type model struct {
	predict.Pipeline
	as      Loader // metric, unit and scale of effects, and what was seen
	assumed []string
	error   predict.Calibration // how far the model itself may be off
	usual   []predict.Class     // how batches vary without the first of each worker; nil where all of them count
	quiet   *predict.Forecaster // of a machine without the other programs; nil where they take little
	sharing string              // what to mind of more workers; "" nothing
	left    float64             // cores that the other programs leave, where they keep what they have; 0 where they take little
}

// noModel says why there is none.
func noModel(e *evidence.Evidence, missing []metric.Desc, reason, cure string) *report.Abstained {
	a := &report.Abstained{Rule: PlansID, Missing: []string{}, Reason: reason, Cure: cure}
	for _, d := range missing {
		if _, ok := e.Get(d); ok {
			continue
		}
		a.Missing = append(a.Missing, d.Name)
		if why, cure := whyMissing(e, d); a.Reason == "" {
			a.Reason, a.Cure = why, cure
		}
	}
	if a.Reason == "" {
		a.Reason = "this watch gave too little to model the loader"
	}
	if a.Cure == "" && Workerless(e) && !Hooked(e) && e.Header.Mode != "launch" {
		a.Cure = launchCure
	}
	return a
}

const launchCure = "start the job with pipetune: pipetune diagnose -- COMMAND"

// pipelineOf makes the model of the loader; where that cannot be done it says why.
func pipelineOf(e *evidence.Evidence) (*model, *report.Abstained) {
	l, ok := modelOf(e)
	if !ok || l.Metric == Relative {
		needs := []metric.Desc{metric.NumWorkers, metric.BatchesPerS, metric.FreeStepTime, metric.WorkerCPUBatch}
		if Workerless(e) {
			needs = []metric.Desc{metric.BatchesPerS, metric.FreeStepTime, metric.FetchTime}
		}
		return nil, noModel(e, needs, "", "")
	}
	if !(l.FreeStep.Center > 0) {
		return nil, noModel(e, nil, "no time was seen that is not spent waiting for data: without a step there is nothing to feed", "watch for longer")
	}
	batches, _ := e.Get(metric.BatchesPerS)
	m := &model{as: l, Pipeline: predict.Pipeline{Loader: l.Loader, Setting: setting(e, l)}}
	if wait, ok := e.Get(metric.WorkerWaitBatch); ok && l.Workers == 0 { // without what it was ready for without a CPU
		m.Wait = wait.Summary
	}
	if l.Metric == metric.SamplesPerS.Name {
		m.Samples = l.scale
	}
	if n := e.Facts.BatchSize; n != nil {
		m.Slices = *n
	}
	m.Anew = MadeAnew(e)
	m.Pin = e.Facts.PinMemory != nil && *e.Facts.PinMemory && e.Facts.GPUName != ""
	m.beside(e)
	m.overheads(e)
	m.epochs(e, batches.Center)
	m.trainer(e, batches.Center)
	m.spreads(e, batches.Center)
	m.StorageShare = waitsForStorage(e)
	m.without()
	m.error, m.sharing = ModelError, sharing(e)
	return m, nil
}

// setting is the loader's setting as it is. What cannot be seen is taken to be PyTorch's default.
func setting(e *evidence.Evidence, l Loader) predict.Setting {
	s := predict.Setting{Workers: l.Workers, Prefetch: l.Prefetch, Start: startMethod(e)}
	if p := e.Facts.Persistent; p != nil && !MadeAnew(e) { // workers live no longer than their loader
		s.Persistent = *p
	}
	if h := e.Facts.Hook; h != nil && h.Loader.InOrder != nil {
		s.Unordered = !*h.Loader.InOrder
	}
	return s
}

// startMethod is how workers are started, or would be: multiprocessing's default on Linux is fork, and forkserver from Python 3.14 on.
func startMethod(e *evidence.Evidence) predict.StartMethod {
	switch s := predict.StartMethod(e.Facts.StartMethod); s {
	case predict.Fork, predict.Spawn, predict.ForkServer:
		return s
	}
	if h := e.Facts.Hook; h != nil {
		major, rest, _ := strings.Cut(h.Python, ".")
		minor, _, _ := strings.Cut(rest, ".")
		a, err := strconv.Atoi(major)
		b, err2 := strconv.Atoi(minor)
		if err == nil && err2 == nil && (a > 3 || a == 3 && b >= 14) {
			return predict.ForkServer
		}
	}
	return predict.Fork
}

// overheads takes what handing a batch over costs. Seen from outside, a worker's CPU per batch holds its part already.
func (m *model) overheads(e *evidence.Evidence) {
	taking := takingCPU
	if low, ok := evidence.ClassQuantile(e.Spread(metric.HookWaitSpread), readyWaits); ok && low > 0 && low <= mostTaking && m.Setting.Workers > 0 {
		taking = low
	} else {
		m.assumed = append(m.assumed, "what taking a batch costs")
	}
	m.Dispatch = dispatchPart * taking
	m.Receive = taking - m.Dispatch
	if Hooked(e) {
		making, ok := e.Get(metric.FetchCPU)
		if ok {
			m.Handover = max(handoverCPU-max(m.CPU.Center-making.Center, 0), 0)
		}
	}
	m.Resume = resumeCPU
}

// beside tells on what cores the job computes and beside how much of other programs. How long its workers were ready to run without a CPU,
// for each second that they had one, tells how many threads shared the cores; where that is not known, what the others used of them does.
func (m *model) beside(e *evidence.Evidence) {
	usable, ok := e.Get(metric.UsableCPUs)
	other, ok2 := e.Get(metric.OtherCPU)
	present, ok3 := e.Get(metric.PresentCPUs)
	if !ok || !ok2 || usable.Center <= 0 {
		return
	}
	if ok3 && present.Center > usable.Center { // some of them compute elsewhere; which is not told
		other.Center = max(other.Center-(present.Center-usable.Center), 0)
	}
	m.Others = max(other.Center, 0)
	running, delay := metric.WorkerCPU, metric.WorkerRunDelay
	if m.Setting.Workers == 0 {
		running, delay = metric.MainCPU, metric.MainRunDelay
	}
	cpu, ok := e.Get(running)
	late, ok2 := e.Get(delay)
	job, ok3 := e.Get(metric.JobCPU)
	if other.Center >= leastOthers && ok && ok2 && ok3 && cpu.Center > leastOnCPU {
		slowed := 1 + late.Center/cpu.Center
		m.Others = max(usable.Center*slowed-job.Center*slowed, m.Others)
	}
	m.Others = min(m.Others, mostOthers*usable.Center)
	m.CPUs = m.as.beside.left(scaled(usable.Summary, 1/max(m.as.ranks, 1)))
	m.Others /= max(m.as.ranks, 1)
	m.left = m.as.CPUs.Lo
}

// pace is how fast each of n threads that compute gets on, beside those of others, 0..1.
func (m *model) pace(n float64) float64 {
	if m.CPUs.N == 0 || m.CPUs.Center <= 0 {
		return 1
	}
	return min(1, m.CPUs.Center/(n+m.Others))
}

// When others are taken to be in the way, and when the job's own delays tell by how much.
const (
	leastOthers = 0.25 // cores; below it what delays the job is mostly itself
	leastOnCPU  = 0.02 // cores of a worker or trainer; below it its delays are those of waking up
	mostOthers  = 8.0  // threads per core; a busier machine is no place to predict anything
)

// trainer takes what the trainer computes in a step: its CPU time without loading and without taking batches. Of that, what only waits for
// a GPU in a busy loop is nobody's bound.
func (m *model) trainer(e *evidence.Evidence, rate float64) {
	all, ok := trainerCPU(e)
	if !ok || rate <= 0 {
		return
	}
	own := scaled(all, 1/rate)
	taking := m.Receive + m.Dispatch
	if m.Setting.Workers == 0 {
		taking = m.CPU.Center
	}
	left := max(own.Center-taking, 0)
	if own.Center > 0 {
		m.TrainerCPU = scaled(own, left/own.Center)
		// Of the step as it was seen, what the trainer was ready for without a CPU is not its own; the simulation adds it where it arises.
		if delay, ok := trainerDelay(e); ok {
			late := delay / rate * left / own.Center
			m.FreeStep = scaled(m.FreeStep, max(m.FreeStep.Center-late, min(left, m.FreeStep.Center))/m.FreeStep.Center)
		}
	}
	host, ok := e.Get(metric.HostTime)
	main, ok2 := e.Get(metric.MainCPU)
	if _, gpu := e.Get(metric.GPUBusy); gpu && ok && ok2 {
		m.Spin = min(max(main.Center-host.Center, 0)/rate, left)
	}
}

// How much a batch's time is taken to vary where it was not timed batch by batch.
const (
	leastVariation = 0.05
	mostVariation  = 1 // exponential times, beyond which a window's mean is too uncertain to tell
)

// spreads takes how batches and steps vary.
func (m *model) spreads(e *evidence.Evidence, rate float64) {
	classes := m.usual
	if classes == nil {
		for _, c := range e.Spread(metric.HookFetchSpread) {
			classes = append(classes, predict.Class{K: c.K, Count: c.Count})
		}
	}
	if s, ok := predict.SpreadOfClasses(classes); ok {
		m.Fetch = s
		return
	}
	m.assumed = append(m.assumed, "how batches vary")
	m.Fetch = predict.Lognormal(max(variation(e, rate), leastVariation))
}

// variation is the coefficient of variation of a batch's cost that the windows allow: a mean of n batches varies by the square root of n
// less than one batch does.
func variation(e *evidence.Evidence, rate float64) float64 {
	values := e.Windows(metric.WorkerCPUBatch)
	time, ok := e.Get(metric.WindowTime)
	if len(values) < 3 || !ok || rate <= 0 {
		return 0
	}
	mean, squares := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean) / float64(len(values)-1)
	}
	if mean <= 0 {
		return 0
	}
	per := rate * time.Center / float64(len(values)) // batches of a window
	return min(math.Sqrt(squares*max(per, 1))/mean, mostVariation)
}

// waitsForStorage is the part of a worker's waiting that is for storage.
func waitsForStorage(e *evidence.Evidence) float64 {
	at := func(ds ...metric.Desc) (sum float64) {
		for _, d := range ds {
			v, _ := e.Get(d)
			sum += unitShare(v.Center)
		}
		return sum
	}
	stored := at(metric.WorkerStorage, metric.WorkerOpenWait)
	all := stored + at(metric.WorkerFileLock, metric.WorkerLock, metric.WorkerHandOver, metric.WorkerOtherWait)
	if all <= 0 {
		return 0
	}
	return stored / all
}
