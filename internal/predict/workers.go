package predict

import "math"

// Clamp names what keeps num_workers from being larger.
type Clamp string

// The clamps.
const (
	NoClamp   Clamp = ""
	ByCPUs    Clamp = "usable CPUs"
	ByMemory  Clamp = "available memory"
	ByShm     Clamp = "/dev/shm"
	ByCeiling Clamp = "the model's ceiling"
)

const (
	// enough is the share of the best rate at which more workers are no longer worth their memory: 3 % is what TraceML's comparison
	// calls the smallest moderate change of a step time.
	enough = 0.97
	// memoryShare is the part of available memory a recommendation may use: TensorFlow's tf.data autotuner budgets the same half.
	memoryShare = 0.5
	// ceiling keeps a loop finite where no CPU count is known; no published configuration uses more workers for one trainer.
	ceiling = 256
	// waiting is how many workers a core may carry where they mostly wait (for storage, for a network) instead of computing. Above one
	// per core PyTorch prints a warning (torch/utils/data/dataloader.py, check_worker_number_rationality), so it stays modest.
	waiting = 2
)

// MaxWorkers is the largest num_workers this machine allows, and what allows no more.
func (l Loader) MaxWorkers() (int, Clamp) {
	most, by := ceiling, ByCeiling
	if l.UsableCPUs > 0 {
		perCore := 1.0
		if l.Wait.N > 0 && l.Wait.Center > l.CPU.Center {
			perCore = waiting
		}
		most, by = max(int(math.Ceil(min(l.UsableCPUs*perCore, ceiling))), 1), ByCPUs
	}
	tighten := func(room, each float64, c Clamp) {
		if room <= 0 || each <= 0 {
			return
		}
		if n := l.Workers + int(math.Min(room/each, ceiling)); n < most {
			most, by = n, c
		}
	}
	queue := l.QueueBytes(1, l.prefetch())
	tighten(l.ShmFree, queue, ByShm)
	tighten(l.Available*memoryShare, l.WorkerBytes+queue, ByMemory)
	return max(most, l.Workers, 1), by
}

// Needed is the smallest num_workers that comes within 3 % of the best that is feasible here.
type Needed struct {
	Workers int
	Clamp   Clamp // what kept it from being more; NoClamp where more would not help
	Prediction
}

// WorkersNeeded chooses num_workers; false where no bound is known.
func (l Loader) WorkersNeeded() (Needed, bool) {
	most, by := l.MaxWorkers()
	most = min(most, ceiling)
	best := l.lowest(most)
	if math.IsInf(best, 1) {
		return Needed{}, false
	}
	n := 1
	for n < most && l.lowest(n) < enough*best {
		n++
	}
	out := Needed{Workers: n}
	if n == most && l.Bounds(n)[0].Term == Workers {
		out.Clamp = by
	}
	out.Prediction, _ = l.Rate(n)
	return out, true
}

func (l Loader) lowest(w int) float64 {
	b := l.Bounds(w)
	if len(b) == 0 {
		return math.Inf(1)
	}
	return b[0].Rate
}
