package diagnose

import (
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

// Workerless reports whether the trainer was seen to have no loader workers.
func Workerless(e *evidence.Evidence) bool {
	n, ok := e.Get(metric.NumWorkers)
	return ok && n.Center == 0
}

// MayLoad reports whether the trainer may load most of the time, or never: it has no workers, was watched from outside,
// and nothing tells its loading from its training.
func MayLoad(e *evidence.Evidence) bool {
	stall, ok := Stall(e)
	return ok && Workerless(e) && !Hooked(e) && stall.Lo < Moderate.Value && stall.Hi >= Most.Value
}

// LoadsInAThread reports whether the hook saw that another thread of a training process without workers takes its
// batches, and so makes them.
func LoadsInAThread(e *evidence.Evidence) bool {
	return Workerless(e) && Hooked(e) && (e.Facts.Taken || e.Facts.OffMain != "")
}

// Training reports whether anything of a training job was seen: a DataLoader that reported itself, a framework, loader
// workers, data being read, or a GPU at work. A process that sleeps and shows none of them may be anything, and its
// sleep says nothing of a device.
func Training(e *evidence.Evidence) bool {
	_, gpu := e.Get(metric.GPUBusy)
	return Hooked(e) || gpu || e.Facts.Framework != "" || !Workerless(e) || orZero(e, metric.InWorkerless) > 0
}

// Hooked reports whether the hook reported on the training loop from inside the job: then the input wait is exact, with
// workers and without.
func Hooked(e *evidence.Evidence) bool { return e.Facts.Hook != nil }

// Stall is the data stall: the share of time in which the device has nothing to do because the batch is not there, and,
// where the trainer has no device open, that in which the trainer itself waits. It is what verdict, severity, score and
// headroom go by.
func Stall(e *evidence.Evidence) (evidence.Value, bool) {
	if v, ok := e.Get(metric.DataStall); ok {
		return v, true
	}
	return InputWait(e)
}

// MayStall reports whether a data stall that is not high may be one: then no worker is known to be one too many.
func MayStall(e *evidence.Evidence) bool {
	v, ok := Stall(e)
	return ok && v.Center < High.Value && v.Hi >= High.Value
}

// InputWait is the share of time in which the trainer stands still for data: waiting for a batch or, without workers,
// loading it. Seen from outside the second is a range and says so by its basis. Behind work that is queued on the
// device it is no loss: see Stall.
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

// Stall is the center of the data stall within 0..1; 0 where it is unknown, and then nothing is at stake that could be
// reported.
func (p *Pass) Stall() float64 {
	if v, ok := Stall(p.Evidence); ok {
		return stat.Share(v.Center)
	}
	return 0
}

// atWork is the share of their time in which those that make batches do so: the workers or, where a thread of the
// trainer's own does it, that one.
func atWork(e *evidence.Evidence) (share float64, ok bool) {
	if Workerless(e) {
		_, ok = e.Get(metric.FetchTime)
		share, _ = ownWork(e)
		return share, ok
	}
	busy, ok := e.Get(metric.WorkerBusy)
	return stat.Share(busy.Center), ok
}

// setsThePace says whether the loader has nothing to spare: a faster step could bring at most Moderate more.
func setsThePace(e *evidence.Evidence) bool {
	share, ok := atWork(e)
	return ok && share >= 1-Moderate.Value
}

// TrainsOnCPU reports whether the trainer has no device open on which its model could compute: what its main thread
// computes then is the model, and what Python does beside it. One that sleeps more than it computes waits for something
// that does.
func TrainsOnCPU(e *evidence.Evidence) bool {
	_, counted := e.Get(metric.GPUBusy)
	lead := leadingStep(e)
	return !counted && orZero(e, metric.GPUCount) == 0 && e.Facts.GPUName == "" && len(e.Header.Host.GPUs) == 0 &&
		lead.Sight == step.NoDevice && lead.Host.Likely > lead.Device.Likely
}

// NativeCores is from where on a trainer computes with more than Python.
var NativeCores = Limit{"cores of a trainer that Python alone cannot use", 1.2, metric.Cores,
	"derived: one thread at a time holds CPython's interpreter lock; a fifth is left to copying and to what native " +
		"calls overlap (the same share that counts as high)"}

// ModelOnCPU tells on how many cores each trainer computes where it is its model that does; false where that does not
// show, or a GPU is at work.
func ModelOnCPU(e *evidence.Evidence) (cores float64, ok bool) {
	all, ok := e.Get(metric.TrainerCPU)
	if gpu, seen := e.Get(metric.GPUBusy); !ok || seen && gpu.Center >= Moderate.Value {
		return 0, false
	}
	cores = all.Center / max(orZero(e, metric.Ranks), 1)
	return cores, cores >= NativeCores.Value
}
