package diagnose

import (
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
)

// Workerless tells whether the trainer was seen to have no loader workers.
func Workerless(e *evidence.Evidence) bool {
	n, ok := e.Get(metric.NumWorkers)
	return ok && n.Center == 0
}

// Training tells whether anything of a training job was seen: a DataLoader that told of itself, a framework, loader workers, data being read, or a GPU at work. A process
// that sleeps and shows none of them may be anything, and its sleep says nothing of a device.
func Training(e *evidence.Evidence) bool {
	_, gpu := e.Get(metric.GPUBusy)
	loads, _ := e.Get(metric.InWorkerless)
	return Hooked(e) || gpu || e.Facts.Framework != "" || !Workerless(e) || loads.Center > 0
}

// Hooked tells whether the hook told of the training loop from inside the job: then the input wait is exact, with workers and without.
func Hooked(e *evidence.Evidence) bool { return e.Facts.Hook != nil }

// InputWait is the share of time the step stands still for data: waiting for a batch or, without workers, loading it in the trainer.
// Seen from outside the second is an upper bound and says so by its basis.
func InputWait(e *evidence.Evidence) (evidence.Value, bool) {
	if v, ok := e.Get(metric.InputWait); ok && Hooked(e) {
		return v, true
	}
	if Workerless(e) {
		if v, ok := e.Get(metric.InWorkerless); ok {
			v.Basis = metric.Inferred
			return v, true
		}
	}
	return e.Get(metric.InputWait)
}

// Wait is InputWait's center within 0..1; 0 where it is unknown, and then nothing is at stake that could be told.
func (p *Pass) Wait() float64 {
	v, _ := InputWait(p.Evidence)
	return unitShare(v.Center)
}

// unitShare forces a share into 0..1; noise can carry one slightly outside.
func unitShare(x float64) float64 {
	if !(x > 0) { // NaN too
		return 0
	}
	return min(x, 1)
}

// atWork is the share of their time in which those that make batches do so: the workers or, where a thread of the trainer's own does it, that one.
func atWork(e *evidence.Evidence) (share float64, ok bool) {
	if Workerless(e) {
		_, ok = e.Get(metric.FetchTime)
		share, _ = ownWork(e)
		return share, ok
	}
	busy, ok := e.Get(metric.WorkerBusy)
	return unitShare(busy.Center), ok
}

// setsThePace says whether the loader has nothing to spare: a faster step could bring at most Moderate more.
func setsThePace(e *evidence.Evidence) bool {
	share, ok := atWork(e)
	return ok && share >= 1-Moderate.Value
}
