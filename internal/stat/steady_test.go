package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestWarmup(t *testing.T) {
	repeat := func(x float64, n int) []float64 { return slices.Repeat([]float64{x}, n) }
	join := slices.Concat[[]float64]
	gap := []float64{0, 0}
	for _, c := range []struct {
		name string
		xs   []float64
		want int
	}{
		{"steady", repeat(10, 30), 0},
		{"nothing yet, then steady", join(repeat(0, 8), repeat(10, 22)), 8},
		{"slow start", join([]float64{1, 3, 5, 6}, repeat(10, 26)), 4},
		{"fast start: a full queue is drained", join(repeat(30, 5), repeat(10, 25)), 5},
		{"one odd window inside", join(repeat(0, 4), repeat(10, 1), repeat(0, 4), repeat(10, 21)), 9},
		{"an epoch's start, and again", join(gap, repeat(10, 10), gap, repeat(10, 10), gap, repeat(10, 4)), 0},
		{"a restart at the first window only just seen twice", join(gap, repeat(10, 16), gap, repeat(10, 10)), 0},
		{"still warming up at half time: half at most", join(repeat(0, 18), repeat(10, 12)), 15},
		{"too short to tell", []float64{0, 0, 10, 10, 10}, 0},
		{"not a number", append(repeat(1, 10), math.NaN()), 0},
		{"a step up of a tenth is weather", join(repeat(9, 10), repeat(10, 20)), 0},
	} {
		if got := Warmup(c.xs, 0.05); got != c.want {
			t.Errorf("%s: dropped %d, want %d", c.name, got, c.want)
		}
	}
}

// TestWarmupKeepsNoise measures how much of noisy but steady series is lost: false alarms must be rare and short.
func TestWarmupKeepsNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	lost, runs := 0, 500
	for range runs {
		num, _ := autocorrelated(rng, 30, 0.4)
		lost += Warmup(num, 0)
	}
	if share := float64(lost) / float64(30*runs); share > 0.01 {
		t.Errorf("%.3f of the windows of steady series were dropped, want at most 0.01", share)
	}
}
