package predict

import (
	"math"

	"github.com/pipetune/pipetune/pkg/report"
)

// Clamp names what keeps num_workers from being larger.
type Clamp string

// The clamps.
const (
	NoClamp   Clamp = ""
	ByCPUs    Clamp = "usable CPUs"
	ByMemory  Clamp = "available memory"
	ByShm     Clamp = "/dev/shm"
	ByShards  Clamp = "the dataset's shards"
	ByCeiling Clamp = "the model's ceiling"
)

const (
	// enough is the share of the best rate at which more workers are no longer worth their memory: less than what is
	// worth a change.
	enough = 1 / report.WorthChange
	// memoryShare is the part of available memory a recommendation may use: TensorFlow's tf.data autotuner budgets
	// the same half.
	memoryShare = 0.5
	// ceiling keeps a loop finite where no CPU count is known; no published configuration uses more workers for one
	// trainer.
	ceiling = 256
	// waiting is how many workers a core may carry where they mostly wait (for storage, for a network) instead of
	// computing. Above one per core PyTorch prints a warning (torch/utils/data/dataloader.py,
	// check_worker_number_rationality), so it stays modest.
	waiting = 2
)

// Memory is what a setting takes beyond the trainer itself, in bytes. What is unknown counts as nothing.
type Memory struct {
	Workers float64 // the workers' own
	Shm     float64 // in /dev/shm: prefetch_factor batches of each worker, and the one it makes
	Pinned  float64 // page-locked: what waits for the trainer then, each batch rounded up to a power of two
}

// Total is all of it; /dev/shm is memory too. A batch is either in shared memory or pinned, so with pinning only
// those being made are in both.
func (m Memory) Total() float64 { return m.Workers + m.Shm + m.Pinned }

// Memory returns what a setting takes.
func (p Pipeline) Memory(set Setting) Memory {
	set = set.plain()
	w := float64(set.Workers)
	m := Memory{Workers: w * p.WorkerBytes, Shm: p.QueueBytes(set.Workers, set.Prefetch)}
	if p.Pin && p.BatchBytes > 0 {
		// The pinning thread empties shared memory into page-locked blocks, which PyTorch's caching host allocator
		// rounds up to powers of two (aten/src/ATen/core/CachingHostAllocator.h); tensor by tensor, of which a batch
		// counts as one here.
		m.Pinned = float64(set.outstanding()) * math.Exp2(math.Ceil(math.Log2(p.BatchBytes)))
		m.Shm = w * p.BatchBytes
	}
	return m
}

// Reach is what a plan may touch.
type Reach struct {
	Memory     float64 // share of the memory that is available that it may use, 0..1
	PerCore    float64 // workers per usable core, where they mostly compute
	Waiting    float64 // workers per usable core, where they mostly wait
	Prefetches []int   // prefetch_factor values to try; the present one is always among them
	Unordered  bool    // in_order=False; the caller knows whether this PyTorch has it
	AnyShm     bool    // whatever room /dev/shm has

	// Only makes all but num_workers as in this setting; nil: all may change that is said above.
	Only *Setting
	// RuledOut are settings that must not be taken, whatever the model makes of them; nil: none.
	RuledOut func(Setting) bool
}

// Limit returns what rules a setting out here; NoClamp where nothing does. The present setting fits: it runs.
func (p Pipeline) Limit(set Setting, r Reach) Clamp {
	set, now := set.plain(), p.Setting.plain()
	if p.Shards > 0 && set.Workers > max(now.Workers, p.Shards) {
		return ByShards
	}
	if set.Workers > now.Workers && set.Workers > p.most(r) {
		if set.Workers > ceiling {
			return ByCeiling
		}
		return ByCPUs
	}
	// A slow pinning thread leaves the whole queue in /dev/shm.
	more := p.QueueBytes(set.Workers, set.Prefetch) - p.QueueBytes(now.Workers, now.Prefetch)
	if !r.AnyShm && p.ShmFree > 0 && more > p.ShmFree {
		return ByShm
	}
	if more := p.Memory(set).Total() - p.Memory(now).Total(); p.Available > 0 && more > p.Available*r.Memory {
		return ByMemory
	}
	return NoClamp
}

// Room returns what has no room for a setting that is recommended for itself: /dev/shm, or the share of the memory
// that the moderate plan may use. It is NoClamp where both have, and for the present setting.
func (p Pipeline) Room(set Setting) Clamp {
	c := p.Limit(set, Reach{Memory: memoryShare, PerCore: ceiling, Waiting: ceiling})
	if c == ByShm || c == ByMemory {
		return c
	}
	return NoClamp
}

// most is the largest number of workers the usable cores carry.
func (p Pipeline) most(r Reach) int {
	if !(p.UsableCPUs > 0) {
		return ceiling
	}
	perCore := r.PerCore
	if p.Wait.N > 0 && p.Wait.Center > p.CPU.Center {
		perCore = r.Waiting
	}
	return max(int(math.Ceil(min(p.UsableCPUs*perCore, ceiling))), 1)
}
