package predict

import (
	"testing"

	"github.com/pipetune/pipetune/internal/stat"
)

// A loader without workers has started none, but starting them is not free: a plan of some pays for it in each epoch.
func TestWorkersFromNoneAreStarted(t *testing.T) {
	p := Pipeline{Loader: Loader{FreeStep: stat.Exact(0.01), CPU: stat.Exact(0.02), CPUs: stat.Exact(8), UsableCPUs: 8},
		Setting: Setting{Start: Fork}, Epoch: 20, Starts: map[StartMethod]StartCost{Fork: {Trainer: 0.05, End: 0.05}}}
	f := NewForecaster(p, Options{Resamples: -1, Steps: 2000})
	for _, set := range f.candidates(Reach{Memory: 1, PerCore: 1, Waiting: 1}) {
		if set.Workers > 0 && set.Start != Fork {
			t.Fatalf("%+v is started in no way", set)
		}
	}
	free := p
	free.Starts = nil
	set := Setting{Workers: 4, Start: Fork}
	paid, _ := f.Point(set, Remedy{})
	gratis, _ := NewForecaster(free, Options{Resamples: -1, Steps: 2000}).Point(set, Remedy{})
	if paid.Rate > 0.9*gratis.Rate {
		t.Errorf("%g steps/s, and %g where starting costs nothing", paid.Rate, gratis.Rate)
	}
}
