package predict

import "math"

// Pipeline is a Loader with what the simulation needs beside its costs. Of these only Setting is needed; what is zero
// is told below. Times are seconds.
type Pipeline struct {
	Loader

	Setting Setting // now

	Fetch Spread // how the time to make a batch varies

	StorageShare float64 // of Wait: time at storage that workers share, as one of them alone takes it, 0..1
	Slices       int     // items of a batch: how often making it changes between waiting and computing; 0 = unknown

	// threads of other programs that compute all the time on CPUs, which then are all that the job may use
	Others float64

	Spin float64 // of TrainerCPU per batch, what only waits for the GPU in a busy loop

	Handover float64 // CPU of a worker per batch beside making it
	Sending  float64 // of Loader.CPU, what is saved without workers, as handing over; below 0: what that costs more
	Receive  float64 // CPU to take a finished batch from a worker
	Untried  float64 // how much longer that may take where it was never seen, for there are no workers
	Dispatch float64 // CPU of the trainer to draw a batch's indices and send them
	Pin      bool    // pin_memory, with a GPU

	Draw   float64   // of the trainer, to draw the indices with which an epoch begins
	Redraw float64   // of the trainer, to draw them once more for new workers, as PyTorch does
	Resume float64   // of the trainer besides, to begin an epoch with persistent workers
	Start  StartCost // in the way in which workers are started, or would be; no other is simulated

	Anew bool // each epoch has a loader of its own, whose workers end with it: persistent_workers changes nothing
	Kept bool // what loading would cost the trainer itself is not known: to go without workers is not recommended

	Epoch int // batches of an epoch; 0 = it never ends
}

// defaultSlices is how often a batch changes between waiting and computing where the number of its items is not known.
const defaultSlices = 4

// mostOutstanding is the most batches on their way that are simulated: 256 workers with 64 each. What asks for more
// is a mistake in a file, not a loader.
const mostOutstanding = 256 * 64

// costs are the inputs of a simulation with a setting, at one point of the measured costs. False where the step is
// unknown, or the cost of a batch: without them nothing can be simulated.
func (p Pipeline) costs(at point, set Setting) (costs, bool) {
	work := known(at.cpu) + known(at.wait)
	unknown := math.IsNaN(at.step) || math.IsNaN(at.cpu) && math.IsNaN(at.wait) || !(at.step > 0 || work > 0)
	if unknown || set.Workers > ceiling || set.outstanding() > mostOutstanding {
		return costs{}, false
	}
	c := costs{
		step: known(at.step), compute: known(at.trainer), cpu: known(at.cpu),
		handover: known(p.Handover), receive: known(p.Receive) + at.taking, dispatch: known(p.Dispatch),
		beside: known(p.Beside), pin: p.Pin, draw: known(p.Draw), redraw: known(p.Redraw), resume: known(p.Resume),
		cores: known(at.cpus), others: at.others, slices: p.Slices, pause: p.Pause,
	}
	if p.TrainerStep > 0 {
		c.behind = max(c.step-p.TrainerStep, 0)
	}
	c.start = StartCost{Trainer: known(p.Start.Trainer), Worker: known(p.Start.Worker), End: known(p.Start.End)}
	if c.slices == 0 {
		c.slices = defaultSlices
	}
	if set.Workers == 0 {
		c.beside = 0
		if !math.IsNaN(p.Sending) {
			c.cpu = max(c.cpu-p.Sending, 0)
		}
	}
	c.spin = min(known(p.Spin), c.compute)
	c.compute -= c.spin
	c.storage = known(at.wait) * min(known(p.StorageShare), 1)
	c.other = known(at.wait) - c.storage
	if least := at.fromStore / at.storage; least > 0 && !math.IsInf(least, 1) { // false where either is unknown
		// The bytes of a batch take storage at least this long, whoever reads them: what was seen as other waiting,
		// or as computing while the kernel read ahead, is then time at storage.
		more := max(least-c.storage, 0)
		c.storage += more
		c.other = max(c.other-more, 0)
		c.readers = c.storage / least
	}
	c.locked = c.lockAt(known(at.lock), set.Workers)
	if at.slowdown > 0 {
		c = c.slowed(at.slowdown)
	}
	return c, c.finite()
}
