package diagnose

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
)

// TestOtherLoadersOfAStepBoundTheOne: with a second loader that needs 30 ms a step no number of workers of the first
// brings more.
func TestOtherLoadersOfAStepBoundTheOne(t *testing.T) {
	seen := readings{"num_workers": 1, "input_wait_ratio": 0.8, "free_step_time_s": 0.01,
		"worker_cpu_per_batch_s": 0.05, "batches_per_s": 20, "usable_cpus": 16}
	facts := launched("train.py", 16)
	alone := modelOf(t, facts, seen)
	facts.OtherLoaders = evidence.OtherLoaders{N: 1, LeastStep: 0.03, CPUs: 1}
	both := modelOf(t, facts, seen)
	if alone.FreeStep.Center != 0.01 || both.FreeStep.Center != 0.03 {
		t.Fatalf("a step of %v s alone, %v s beside another", alone.FreeStep, both.FreeStep)
	}
	if e := both.WithWorkers(12); e == nil || e.After > 1/0.03+1e-6 {
		t.Errorf("promised %+v", e)
	}
	if math.Abs(alone.CPUs.Center-both.CPUs.Center-1) > 1e-9 {
		t.Errorf("%v CPUs alone, %v beside another", alone.CPUs, both.CPUs)
	}
}

// TestOneLoaderOfAllRanksHasAllCPUs: the loaders of four trainers share the cores; one that feeds all has them, less
// what the others compute.
func TestOneLoaderOfAllRanksHasAllCPUs(t *testing.T) {
	for feeding, cpus := range map[float64]float64{4: 4, 1: 16 - 0.3*3} {
		l := modelOf(t, evidence.Facts{}, readings{"num_workers": 1, "input_wait_ratio": 0.8,
			"free_step_time_s": 0.01, "worker_cpu_per_batch_s": 0.05, "batches_per_s": 20, "usable_cpus": 16,
			"ranks": 4, "feeding_ranks": feeding, "trainer_cpu_cores": 1.2})
		if math.Abs(l.CPUs.Center-cpus) > 1e-9 {
			t.Errorf("%v feeding: %v CPUs, want %v", feeding, l.CPUs.Center, cpus)
		}
	}
}
