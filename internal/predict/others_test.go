package predict

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pipetune/pipetune/internal/stat"
)

// Beside threads of others each thread of the job gets its equal share of the cores, so that more workers still get
// more.
func TestOthersShareTheCores(t *testing.T) {
	p := Pipeline{Loader: Loader{FreeStep: stat.Exact(1e-4), CPU: stat.Exact(0.1), CPUs: stat.Exact(2), UsableCPUs: 2},
		Setting: Setting{Workers: 1}}
	for _, c := range []struct {
		others  float64
		workers int
		want    float64
	}{
		{0, 1, 10}, {1, 1, 10}, // the other one has the second core
		{3, 1, 5}, // four threads on two cores
		{3, 2, 8},
		{3, 5, 12.5},
		{2, 0, 10.0 * 2 / 3},
	} {
		p.Others = c.others
		out, ok := NewForecaster(p, Options{Resamples: -1, Steps: 2000}).Point(Setting{Workers: c.workers}, Remedy{})
		if !ok || math.Abs(out.Rate/c.want-1) > 0.02 {
			t.Errorf("%d workers beside %g threads of others: %g/s, want %g/s", c.workers, c.others, out.Rate, c.want)
		}
	}
}

func TestOthersNeverLiftARateAboveABound(t *testing.T) {
	for seed := range uint64(60) {
		dice := rand.New(rand.NewPCG(seed, 9))
		p := Pipeline{Loader: loader(dice, 0), Others: 8 * dice.Float64(), Fetch: Lognormal(dice.Float64())}
		p.CPUs = stat.Exact(0.5 + 4*dice.Float64())
		w := dice.IntN(9)
		f := NewForecaster(p, Options{Resamples: -1, Steps: 1000})
		out, ok := f.Point(Setting{Workers: w}, Remedy{})
		if !ok {
			continue
		}
		c, _ := p.costs(p.center(), out.Setting)
		raw := (&engine{}).simulate(c, out.Setting, newDraws(seed, 1000, p.Fetch), extent{steps: 1000})
		if most := out.Bounds[0].Rate; raw.Rate > most*1.05 || out.Rate > most*(1+1e-9) {
			t.Errorf("seed %d: %g/s with %d workers, above %g/s", seed, raw.Rate, w, most)
		}
		alone := p
		alone.Others = 0
		if free, _ := NewForecaster(alone, Options{Resamples: -1, Steps: 1000}).Point(Setting{Workers: w},
			Remedy{}); free.Rate < out.Rate*0.98 {
			t.Errorf("seed %d: %g/s alone, %g/s beside others", seed, free.Rate, out.Rate)
		}
	}
}
