// Package predict says what a data loader would do with other settings: batches per second, input wait, workers needed, memory of its
// queue, and which changes are worth making.
//
// It promises never to exceed the asymptotic bounds (the step, the workers, the CPUs, the storage), to name the bound that limits and
// the next one, and to give an interval instead of a point. It knows no signals and no machine, only measured costs.
//
// Two ways lead to a prediction. Loader has the bounds alone: they assume that service times do not vary; real ones do, and then a queue
// of a few batches cannot hide all of it, so its interval runs from what exponentially distributed service times would leave (lower
// edge) to the bound itself (upper edge), each taken over resampled inputs. Pipeline adds what a simulation needs: a Forecaster
// follows PyTorch's DataLoader event by event (simulate.go, engine.go), with times drawn as they were measured, searches the settings
// that fit the machine, and makes plans.
//
// What neither knows: contention that was not measured and only appears at the new setting (memory bandwidth, locks, the interpreter lock
// between the pinning thread and the trainer), iterable datasets whose workers end at different times, and overheads of the loader at
// another pace than they were measured at.
package predict

import "github.com/pipetune/pipetune/internal/stat"

// Loader is one trainer's loader as measured. A Summary with N = 0 is unknown; a zero float64 is unknown unless its comment says otherwise.
type Loader struct {
	Workers int // now; 0 means that the trainer loads by itself between steps

	FreeStep   stat.Summary // seconds per batch without waiting for data: the step if data were free
	CPU        stat.Summary // seconds of CPU per batch that loading takes
	Wait       stat.Summary // seconds per batch that loading waits for something other than a CPU or work
	TrainerCPU stat.Summary // seconds of CPU per batch that the trainer itself takes
	CPUs       stat.Summary // cores that this trainer and its workers can get; unknown means no bound
	Storage    stat.Summary // bytes per second storage can give, where a ceiling is known
	FromStore  stat.Summary // bytes from storage per batch

	Pause Pause // what interrupts training in the middle of epochs

	UsableCPUs  float64 // cores the trainer may use at all: the ceiling of num_workers
	BatchBytes  float64 // bytes of one batch's tensors
	Prefetch    int     // prefetch_factor; 0 = unknown, and then PyTorch's default of 2 holds
	WorkerBytes float64 // private memory of one worker
	ShmFree     float64 // room left in /dev/shm, at the least
	Available   float64 // memory that can still be used
}

// defaultPrefetch is what DataLoader uses when nothing is asked for (torch/utils/data/dataloader.py, 1.13 to 2.14).
const defaultPrefetch = 2

// prefetch returns the factor in force.
func (l Loader) prefetch() int {
	if l.Prefetch > 0 {
		return l.Prefetch
	}
	return defaultPrefetch
}

// QueueBytes is the most that finished batches can take in /dev/shm with w workers and the factor prefetch: prefetch batches for
// each worker wait, and each may be building one more. It is 0 where the batch's size is unknown.
func (l Loader) QueueBytes(w, prefetch int) float64 {
	return float64(w) * float64(prefetch+1) * l.BatchBytes
}
