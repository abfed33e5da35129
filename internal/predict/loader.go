// Package predict says what a data loader would do with other settings, or at another cost: batches per second, input
// wait, workers needed, memory of its queue, and which changes are worth making.
//
// There is one model. A Forecaster follows PyTorch's DataLoader event by event (simulate.go, engine.go), with times
// drawn as they were measured, and every rate comes from that. The asymptotic bounds (the step, the workers, the
// CPUs, the storage) are what is known of it without simulating: no rate exceeds them, and the lowest two name what
// limits and what would limit next.
//
// It promises an interval instead of a point. It knows no signals and no machine, only measured costs, in any unit of
// time that all of them share.
//
// What it does not know: contention that was not measured and only appears at the new setting (memory bandwidth,
// locks that nobody waits for yet, the interpreter lock between the pinning thread and the trainer), iterable datasets
// whose workers end at different times, and overheads of the loader at another pace than they were measured at.
package predict

import "github.com/pipetune/pipetune/internal/stat"

// Loader is what one trainer's loader costs, as measured. A Summary with N = 0 is unknown; a zero float64 is unknown
// unless its comment says otherwise.
type Loader struct {
	FreeStep   stat.Summary // seconds per batch without waiting for data: the step if data were free
	StepRange  bool         // FreeStep lies anywhere in its interval: that is ignorance, and no noise
	CPU        stat.Summary // seconds of CPU per batch that loading takes
	Wait       stat.Summary // seconds per batch that loading waits for something other than a CPU or work
	Beside     float64      // CPUs on which a worker computes beside its main thread's, on average while that one does
	TrainerCPU stat.Summary // seconds of CPU per batch that the trainer itself takes
	CPUs       stat.Summary // cores that this trainer and its workers can get; unknown means no bound
	Storage    stat.Summary // bytes per second storage can give, where a ceiling is known
	FromStore  stat.Summary // bytes from storage per batch

	// Seconds per batch, of CPU and Wait, in which a worker holds a lock that all share, so that only one of them at a
	// time does that part: anywhere in its interval, which is ignorance. What others wait for it is not in Wait.
	Lock stat.Summary

	// Seconds per batch of FreeStep in which the trainer itself is busy or held by its device; the rest of FreeStep the
	// device works on while the trainer goes on, to the next batch. 0 = the trainer is held by all of it.
	TrainerStep float64

	Device, Copy stat.Summary // seconds per batch of the step's parts, which may overlap

	Pause Pause // what interrupts training in the middle of epochs

	UsableCPUs  float64 // cores the trainer may use at all: the ceiling of num_workers
	FullCPUs    float64 // of CPUs, those that lose nothing to each other beyond what was seen; 0 = all
	Shards      int     // of the dataset: a worker beyond them gets no data; 0 = it is in none, or not known
	BatchBytes  float64 // bytes of one batch's tensors
	WorkerBytes float64 // private memory of one worker
	ShmFree     float64 // room left in /dev/shm, at the least
	Available   float64 // memory that can still be used
}

// Making is how long a worker takes for a batch that waits for no CPU and no other worker, in seconds; 0 = unknown.
func (l Loader) Making() float64 { return l.CPU.Center/(1+l.Beside) + l.Wait.Center }

// DefaultPrefetch is prefetch_factor where nothing is asked for (torch/utils/data/dataloader.py, 1.13 to 2.14).
const DefaultPrefetch = 2

// QueueBytes is the most that finished batches can take in /dev/shm with w workers and the factor prefetch: prefetch
// batches for each worker wait, and each may be building one more. It is 0 where the batch's size is unknown.
func (l Loader) QueueBytes(w, prefetch int) float64 {
	return float64(w) * float64(prefetch+1) * l.BatchBytes
}
