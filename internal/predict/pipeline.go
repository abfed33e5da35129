package predict

import "math"

// Pipeline is a Loader with what the simulation needs beside its costs. Of these only Setting is needed; what is zero is told below.
// Times are seconds.
type Pipeline struct {
	Loader // Workers and Prefetch are those of Setting, and not looked at

	Setting Setting // now

	Fetch Spread  // how the time to make a batch varies
	Steps Spread  // how the step varies
	Runs  float64 // probability that a batch is as slow as the one before it, 0..1: slow samples that come together

	StorageShare float64   // of Wait: time at storage that workers share, as one of them alone takes it; the rest is nobody else's, 0..1
	Readers      []float64 // speed-up of storage with 1, 2, … reading at once over one alone; nil = only Storage limits it
	Slices       int       // items of a batch, which is how often its making changes between waiting and computing; 0 = unknown

	Others float64 // threads of other programs that compute all the time on the cores CPUs, which then are all that the job may use

	Spin float64 // of TrainerCPU per batch, what only waits for the GPU in a busy loop

	Handover float64 // CPU of a worker per batch beside making it
	Receive  float64 // CPU to take a finished batch from a worker
	Dispatch float64 // CPU of the trainer to draw a batch's indices and send them
	Pin      bool    // pin_memory, with a GPU
	Pinning  float64 // CPU of the pinning thread to copy a batch

	Resume float64                   // to begin an epoch with persistent workers
	Starts map[StartMethod]StartCost // measured ones; a start method that is not here is not recommended

	Anew bool // each epoch has a loader of its own, whose workers end with it: persistent_workers changes nothing
	Kept bool // what loading would cost the trainer itself is not known: to go without workers is not recommended

	Epoch   int     // batches of an epoch; 0 = it never ends
	Samples float64 // of a batch; 0 = unknown
}

// defaultSlices is how often a batch changes between waiting and computing where the number of its items is not known.
const defaultSlices = 4

// mostOutstanding is the most batches on their way that are simulated: 256 workers with 64 each. What asks for more is a mistake in a
// file, not a loader.
const mostOutstanding = 256 * 64

// costs are the inputs of a simulation with a setting, at one point of the measured costs. False where the step is unknown, or the cost of
// a batch: without them nothing can be simulated.
func (p Pipeline) costs(at point, set Setting) (costs, bool) {
	work := known(at.cpu) + known(at.wait)
	if math.IsNaN(at.step) || math.IsNaN(at.cpu) && math.IsNaN(at.wait) || !(at.step > 0 || work > 0) || set.Workers > ceiling || set.outstanding() > mostOutstanding {
		return costs{}, false
	}
	c := costs{
		step: known(at.step), compute: known(at.trainer), cpu: known(at.cpu),
		handover: known(p.Handover), receive: known(p.Receive), dispatch: known(p.Dispatch), pinning: known(p.Pinning), pin: p.Pin, resume: known(p.Resume),
		cores: known(at.cpus), others: known(p.Others), slices: p.Slices, pause: p.Pause.parts(),
	}
	start := p.Starts[set.Start]
	c.start = StartCost{Trainer: known(start.Trainer), Worker: known(start.Worker), End: known(start.End)}
	if c.slices == 0 {
		c.slices = defaultSlices
	}
	c.spin = min(known(p.Spin), c.compute)
	c.compute -= c.spin
	c.storage = known(at.wait) * min(known(p.StorageShare), 1)
	c.other = known(at.wait) - c.storage
	readers := usable(p.Readers)
	c.readers = readers
	if least := at.fromStore / at.storage; least > 0 && !math.IsInf(least, 1) { // false where either is unknown
		// The bytes of a batch take storage at least this long, whoever reads them: what was seen as other waiting, or as computing
		// while the kernel read ahead, is then time at storage.
		more := max(least-c.storage, 0)
		c.storage += more
		c.other = max(c.other-more, 0)
		c.readers = limited(readers, c.storage/least, set.Workers)
	}
	return c, c.finite()
}

// usable is a speed-up curve that can be reckoned with, with one reader as its unit; or none.
func usable(readers []float64) []float64 {
	out := make([]float64, len(readers))
	for i, x := range readers {
		if out[i] = x / readers[0]; !(out[i] > 0) || math.IsInf(out[i], 1) {
			return nil
		}
	}
	return out
}

// limited is a speed-up curve that ends at most.
func limited(readers []float64, most float64, workers int) []float64 {
	n := max(len(readers), min(int(math.Ceil(min(most, float64(ceiling)))), max(workers, 1)), 1)
	out := make([]float64, n)
	for i := range out {
		speed := float64(i + 1)
		if len(readers) > 0 {
			speed = readers[min(i, len(readers)-1)]
		}
		out[i] = min(speed, max(most, 1))
	}
	return out
}

// bounds are the ceilings of the point with a setting: those of the Loader, and storage's curve where it is the lower one.
func (p Pipeline) bounds(at point, c costs, set Setting) []Bound {
	set = set.plain()
	workers := set.Workers
	at.prefetch, at.others = set.Prefetch, c.others
	at.trainer = c.compute // what spins is no bound: nobody waits for it
	if c.others > 0 && at.cpus > 0 {
		at.cpus = min(at.cpus, c.obtainable(workers))
	}
	if c.storage > 0 && len(c.readers) > 0 && workers > 0 {
		most := 0.0
		for n := 1; n <= workers; n++ {
			most = max(most, c.speedup(n))
		}
		at.storage, at.fromStore = most, c.storage
	}
	return at.bounds(workers)
}

// known is x, or nothing where it is unknown.
func known(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return max(x, 0)
}
