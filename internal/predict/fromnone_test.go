package predict

import (
	"testing"

	"github.com/pipetune/pipetune/internal/stat"
)

// A loader without workers has started none, but starting them is not free: a plan of some pays for it in each epoch.
func TestWorkersFromNoneAreStarted(t *testing.T) {
	p := Pipeline{Loader: Loader{FreeStep: stat.Exact(0.01), CPU: stat.Exact(0.02), CPUs: stat.Exact(8), UsableCPUs: 8},
		Epoch: 20, Start: StartCost{Trainer: 0.05, End: 0.05}}
	f := NewForecaster(p, Options{Resamples: -1, Steps: 2000})
	free := p
	free.Start = StartCost{}
	set := Setting{Workers: 4}
	paid, _ := f.Point(set, Remedy{})
	gratis, _ := NewForecaster(free, Options{Resamples: -1, Steps: 2000}).Point(set, Remedy{})
	if paid.Rate > 0.9*gratis.Rate {
		t.Errorf("%g steps/s, and %g where starting costs nothing", paid.Rate, gratis.Rate)
	}
}

// A trainer that does not wait for its device loads the next batch while the device works: without workers a step takes
// 30 ms to load and 5 ms to launch, and the 20 ms of the device lie behind them. Where the device takes longer than
// both, it is the limit.
func TestLoadingHidesTheDeviceBehindTheTrainer(t *testing.T) {
	for _, tt := range []struct {
		name                string
		trainer, step, want float64
	}{
		{"held by the whole step", 0, 0.020, 1 / 0.050},
		{"goes on", 0.005, 0.020, 1 / 0.035},
		{"goes on, and the device limits", 0.005, 0.060, 1 / 0.060},
	} {
		p := Pipeline{Loader: Loader{FreeStep: stat.Exact(tt.step), Wait: stat.Exact(0.03), TrainerStep: tt.trainer,
			TrainerCPU: stat.Exact(0.004), CPUs: stat.Exact(8)}}
		got, ok := NewForecaster(p, Options{Resamples: -1, Steps: 2000}).Point(Setting{}, Remedy{})
		if !ok || got.Rate > tt.want*1.001 || got.Rate < tt.want*0.99 || got.Bounds[0].Rate > tt.want*1.001 {
			t.Errorf("%s: %g steps/s, bounds %v, want %g", tt.name, got.Rate, got.Bounds, tt.want)
		}
	}
}
