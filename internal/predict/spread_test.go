package predict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSpreadKeepsMeanAndVariation(t *testing.T) {
	times := exponential(7, 50_000)
	var classes []Class
	counts := map[int]float64{}
	for _, x := range times {
		counts[int(math.Floor(20*math.Log10(x*1e4)))]++ // as if one were 10 ms
	}
	for k, n := range counts {
		classes = append(classes, Class{K: k, Count: n})
	}
	measured, ok := SpreadOf(times)
	counted, ok2 := SpreadOfClasses(classes)
	if !ok || !ok2 {
		t.Fatal("no spread")
	}
	for name, tt := range map[string]struct {
		spread Spread
		want   float64
	}{
		"measured":              {measured, 1},
		"counted in classes":    {counted, 1},
		"log-normal":            {Lognormal(0.5), 0.5},
		"log-normal, long tail": {Lognormal(1.5), 1.5},
		"constant":              {Spread{}, 0},
	} {
		if got := tt.spread.Variation(); math.Abs(got-tt.want) > 0.06*tt.want {
			t.Errorf("%s: variation %g, want %g", name, got, tt.want)
		}
		for _, run := range []float64{0, 0.8} {
			out := make([]float64, 3000)
			tt.spread.draw(rand.New(rand.NewPCG(1, 1)), out, run)
			if m := mean(out); math.Abs(m-1) > 1e-9 || slices.Min(out) < 0 {
				t.Errorf("%s: drawn mean %g, want 1", name, m)
			}
		}
	}
}

func TestRunsOfSlowBatches(t *testing.T) {
	out := make([]float64, 20_000)
	Lognormal(1).draw(rand.New(rand.NewPCG(1, 1)), out, 0.75)
	same := 0
	for i := 1; i < len(out); i++ {
		if out[i] == out[i-1] {
			same++
		}
	}
	if share := float64(same) / float64(len(out)); math.Abs(share-0.75) > 0.01 {
		t.Errorf("%g of the batches are like the one before, want 0.75", share)
	}
}

func TestSpreadRefusesWhatIsNoTime(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, ok := range map[string]bool{
		"nothing":        second(SpreadOf(nil)),
		"one time":       second(SpreadOf([]float64{1})),
		"all zero":       second(SpreadOf([]float64{0, 0, 0})),
		"no numbers":     second(SpreadOf([]float64{nan, inf, -1, 2})),
		"no classes":     second(SpreadOfClasses(nil)),
		"empty classes":  second(SpreadOfClasses([]Class{{K: 3}, {K: 5, Count: nan}, {K: 6, Count: inf}})),
		"one in a class": second(SpreadOfClasses([]Class{{K: 3, Count: 1}})),
	} {
		if ok {
			t.Errorf("%s made a spread", name)
		}
	}
	if v := Lognormal(nan).Variation(); v != 0 {
		t.Errorf("no number made a variation of %g", v)
	}
}

func second(_ Spread, ok bool) bool { return ok }
