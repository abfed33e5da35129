package diagnose

import (
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
)

// NativeCores is how many cores a trainer uses from which on its native threads compute: Python runs on one thread at a time.
const NativeCores = 1.2

// ModelOnCPU tells on how many cores each trainer computes where it is its model that does; false where that does not show, or a GPU is at work.
func ModelOnCPU(e *evidence.Evidence) (cores float64, ok bool) {
	all, ok := e.Get(metric.TrainerCPU)
	if gpu, seen := e.Get(metric.GPUBusy); !ok || seen && gpu.Center >= Moderate.Value {
		return 0, false
	}
	ranks, _ := e.Get(metric.Ranks)
	cores = all.Center / max(ranks.Center, 1)
	return cores, cores >= NativeCores
}
