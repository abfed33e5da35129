package step

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestAwaits holds the likely wait in collectives against two ranks that take their steps together, each with its own
// loader of one worker, in windows of twenty steps as from outside.
func TestAwaits(t *testing.T) {
	exponential := func(mean float64) func(*rand.Rand) float64 {
		return func(r *rand.Rand) float64 { return mean * r.ExpFloat64() }
	}
	always := func(x float64) func(*rand.Rand) float64 { return func(*rand.Rand) float64 { return x } }
	even := func(mean float64) func(*rand.Rand) float64 {
		return func(r *rand.Rand) float64 { return mean * (0.5 + r.Float64()) }
	}
	for _, c := range []struct {
		name   string
		load   [2]func(*rand.Rand) float64 // seconds of a batch
		device float64
	}{
		{"alike and constant", [2]func(*rand.Rand) float64{always(0.1), always(0.1)}, 0.04},
		{"one starves", [2]func(*rand.Rand) float64{always(0.1), always(0.02)}, 0.04},
		{"exponential", [2]func(*rand.Rand) float64{exponential(0.06), exponential(0.06)}, 0.022},
		{"even", [2]func(*rand.Rand) float64{even(0.1), even(0.1)}, 0.04},
		{"exponential, unlike", [2]func(*rand.Rand) float64{exponential(0.1), exponential(0.05)}, 0.03},
	} {
		const steps, window, ahead = 2000, 20, 2 // prefetch_factor=2
		dice := rand.New(rand.NewPCG(1, 2))
		var ready, stall, waits, total [2]float64
		// when the batches before were taken: a worker begins no batch before there is room
		var starts [ahead][2]float64
		var stalls [][2]float64
		now, at, begun := 0.0, 0, [2]float64{}
		for k := range steps {
			var batch [2]float64
			for r := range ready {
				ready[r] = max(ready[r], starts[at][r]) + c.load[r](dice)
				batch[r] = max(ready[r], now)
			}
			for r := range ready {
				starts[at][r] = batch[r]
				begun[r] += batch[r] - now
			}
			at = (at + 1) % ahead
			last := max(batch[0], batch[1])
			for r := range ready {
				stall[r], waits[r] = stall[r]+batch[r]-now, waits[r]+last-batch[r]
			}
			total[0] += last + c.device - now
			now = last + c.device
			if k%window == window-1 {
				stalls = append(stalls, [2]float64{begun[0] / total[0], begun[1] / total[0]})
				begun, total = [2]float64{}, [2]float64{}
			}
		}
		spread, mean := 0.0, (stall[1]-stall[0])/now
		for _, s := range stalls {
			spread += (s[1] - s[0] - mean) * (s[1] - s[0] - mean)
		}
		spread = math.Sqrt(spread / float64(len(stalls)-1))
		least, likely := 0.0, 0.0
		for _, s := range stalls {
			lo, mid := Awaits(s[0], []float64{s[1]}, spread, window)
			least, likely = least+lo/float64(len(stalls)), likely+mid/float64(len(stalls))
		}
		truth := waits[0] / now
		t.Logf("%s: stalls %.3f and %.3f, waits for the other %.3f, told %.3f, at least %.3f",
			c.name, stall[0]/now, stall[1]/now, truth, likely, least)
		// What is told too much is promised and does not come true; of what is told too little more comes than was
		// promised.
		if likely > truth+0.03 || likely < truth-0.08 || least > truth+0.02 {
			t.Errorf("%s: a rank waits %.3f for the other's data, told %.3f, at least %.3f", c.name, truth, likely,
				least)
		}
	}
}

// TestAwaitsNobody: without other ranks, or with none that starves, there is nothing to wait for.
func TestAwaitsNobody(t *testing.T) {
	for _, others := range [][]float64{nil, {0}, {0, 0}} {
		if least, likely := Awaits(0.3, others, 0, 10); least != 0 || likely != 0 {
			t.Errorf("others' stalls %v: %g, at least %g", others, likely, least)
		}
	}
}
