package predict

// costs are the inputs of one simulation, in seconds per batch unless said otherwise: numbers, as the intervals are
// drawn from outside.
type costs struct {
	step    float64 // the trainer's step, data at hand
	behind  float64 // of the step, what the device does while the trainer goes on to the next batch
	compute float64 // CPU of the trainer for it; above step where it runs on several threads
	// CPU of the trainer that only waits for the device: it takes from the workers, but nobody waits for it
	spin float64

	cpu, storage, other float64 // what making a batch takes: CPU, waiting for shared storage, waiting for anything else

	beside float64 // CPUs on which a worker computes beside its main thread's

	locked float64 // part of each of these that only one worker at a time does, 0..1

	handover float64 // CPU of the worker around making a batch: getting indices, sending the batch
	receive  float64 // CPU of whoever takes a finished batch from a worker: the trainer, or the pinning thread
	dispatch float64 // CPU of the trainer to draw the indices of a batch and send them
	pin      bool
	draw     float64 // seconds of the trainer to draw the indices with which an epoch begins
	redraw   float64 // seconds of the trainer to draw them once more, for new workers
	resume   float64 // seconds of the trainer besides, to begin an epoch with persistent workers

	cores float64 // cores for workers and trainer; fractions are a quota; +Inf = they never run out
	// threads of other programs that compute on them all the time, each with as much right as a thread of the job
	others  float64
	readers float64 // how many who wait for storage at once it serves as fast as one alone; 0 = any number
	start   StartCost
	slices  int // how often a batch goes back and forth between waiting and computing
	pause   Pause
}

// finite reports that no cost is endless.
func (c *costs) finite() bool {
	sum := c.step + c.compute + c.spin + c.cpu + c.storage + c.other + c.handover + c.receive + c.dispatch +
		c.draw + c.redraw + c.resume + c.start.Trainer + c.start.Worker + c.start.End
	return sum <= longest
}

// longest is the longest a batch with all that belongs to it may take, in seconds: a week. What is longer is a
// mistake in a file.
const longest = 7 * 24 * 3600

// ofWorker is on how many cores a worker computes at once.
func (c *costs) ofWorker() float64 { return 1 + c.beside }

// ofTrainer is on how many cores the trainer computes at once.
func (c *costs) ofTrainer() float64 {
	if c.step > 0 && c.compute > c.step {
		return c.compute / c.step
	}
	return 1
}

// stepParts cuts a step into what the trainer computes and what it waits for the device, in seconds with cores at
// hand, and says on how many cores it spins while it waits.
func (c *costs) stepParts() (computing, device, spinning float64) {
	if c.compute >= c.step {
		return c.step, 0, 0
	}
	computing, device = c.compute, c.step-c.compute
	return computing, device, c.spin / device
}

// speedup of storage with n waiting.
func (c *costs) speedup(n int) float64 {
	if c.readers == 0 {
		return float64(n)
	}
	return min(float64(n), max(c.readers, 1))
}

// pace is how fast each of n threads of the job computes beside those of others, 0..1: the kernel gives all the same.
func (c *costs) pace(n float64) float64 {
	if n+c.others > c.cores {
		return c.cores / (n + c.others)
	}
	return 1
}

// ending is how long the trainer waits for workers to end: they do so side by side, as far as there are cores.
func (c *costs) ending(set Setting) float64 {
	if set.Persistent || set.Workers == 0 {
		return 0
	}
	return c.start.End / c.pace(float64(set.Workers))
}

// obtainable is how many cores the job gets at the most, with so many workers: with all of its threads at once, for
// the more there are the more they get beside others.
func (c *costs) obtainable(workers int) float64 {
	n := c.ofTrainer()
	if _, _, spinning := c.stepParts(); workers > 0 {
		n = float64(workers)*c.ofWorker() + max(n, spinning)
		if c.pin {
			n++
		}
	}
	return n * c.pace(n)
}

// contended reports whether workers can get into each other's way, so that it matters how a batch's work is cut.
func (c *costs) contended(workers int) bool {
	if c.cores < float64(workers)*c.ofWorker()+c.ofTrainer()+c.others {
		return true
	}
	return c.locked > 0 || c.storage > 0 && c.speedup(workers) < float64(workers)
}

// extent is how much of a training run is simulated.
type extent struct {
	epoch int  // batches of an epoch; 0 = the epoch never ends
	steps int  // steps after which to stop, whatever the epoch
	cold  bool // begin by starting workers; else persistent workers are there already
}
