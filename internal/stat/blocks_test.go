package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// chain makes windows that resemble their neighbours: a first-order autoregression around 100 with a deviation of 8.
func chain(rng *rand.Rand, n int, correlation float64) []float64 {
	xs := make([]float64, n)
	x := rng.NormFloat64()
	for i := range xs {
		xs[i] = 100 + 8*x
		x = correlation*x + math.Sqrt(1-correlation*correlation)*rng.NormFloat64()
	}
	return xs
}

// TestBlocksKeepFalseAlarmsRare compares runs of the same job 1,000 times: with windows taken as they are the test
// finds a difference up to every other time, with blocks about as often as it says.
func TestBlocksKeepFalseAlarmsRare(t *testing.T) {
	for _, c := range []struct {
		windows     int
		correlation float64
		atMost      float64
	}{{20, 0, 0.06}, {20, 0.2, 0.065}, {20, 0.4, 0.08}, {50, 0.4, 0.075}, {50, 0.6, 0.09}, {150, 0.4, 0.075},
		{150, 0.8, 0.09}} {
		rng := rand.New(rand.NewPCG(uint64(c.windows), uint64(c.correlation*10)))
		const runs = 1000
		plain, blocked := 0, 0
		for range runs {
			a, b := chain(rng, c.windows, c.correlation), chain(rng, c.windows, c.correlation)
			if Compare(a, b) < 1-Confidence {
				plain++
			}
			if means := Blocks(a, b); Compare(means[0], means[1]) < 1-Confidence {
				blocked++
			}
		}
		share := float64(blocked) / runs
		t.Logf("%d windows, correlation %v: false alarms %.3f as they are, %.3f in blocks", c.windows, c.correlation,
			float64(plain)/runs, share)
		if share > c.atMost {
			t.Errorf("%d windows, correlation %v: %.3f false alarms, want at most %v", c.windows, c.correlation, share,
				c.atMost)
		}
	}
}

func TestBlocks(t *testing.T) {
	even := []float64{1, 2, 1, 2, 1, 2, 1, 2}
	if means := Blocks(even, even); len(means) != 2 || len(means[0]) != 8 {
		t.Errorf("windows that alternate were averaged: %v", means)
	}
	ramp := make([]float64, 40)
	for i := range ramp {
		ramp[i] = float64(i)
	}
	if means := Blocks(ramp); len(means[0]) != 4 || means[0][0] != 4.5 || means[0][3] != 34.5 {
		t.Errorf("a ramp is one long correlation: %v", means)
	}
	if means := Blocks([]float64{1, 2}, nil); len(means[0]) != 2 || len(means[1]) != 0 {
		t.Errorf("too few: %v", means)
	}
	if means := Blocks([]float64{math.NaN(), 3, math.Inf(1)}); len(means[0]) != 1 || means[0][0] != 3 {
		t.Errorf("what is no reading came through: %v", means)
	}
	if r := autocorrelation([]float64{5, 5, 5, 5, 5, 5}); r != 0 {
		t.Errorf("nothing varies, autocorrelation %v", r)
	}
}
