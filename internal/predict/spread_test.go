package predict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/stat"
)

func TestSpreadKeepsMeanAndVariation(t *testing.T) {
	times := exponential(7, 50_000)
	var classes []stat.Class
	counts := map[int]float64{}
	for _, x := range times {
		counts[int(math.Floor(20*math.Log10(x*1e4)))]++ // as if one were 10 ms
	}
	for k, n := range counts {
		classes = append(classes, stat.Class{K: k, Count: n})
	}
	measured, ok := unit(slices.Clone(times), len(times))
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
		if got := variation(tt.spread); math.Abs(got-tt.want) > 0.06*tt.want {
			t.Errorf("%s: variation %g, want %g", name, got, tt.want)
		}
		out := make([]float64, 3000)
		tt.spread.draw(rand.New(rand.NewPCG(1, 1)), out)
		if m := mean(out); math.Abs(m-1) > 1e-9 || slices.Min(out) < 0 {
			t.Errorf("%s: drawn mean %g, want 1", name, m)
		}
	}
}

func TestSpreadRefusesWhatIsNoTime(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, ok := range map[string]bool{
		"nothing":        second(unit(nil, 0)),
		"one time":       second(unit([]float64{1}, 1)),
		"all zero":       second(unit([]float64{0, 0, 0}, 3)),
		"no classes":     second(SpreadOfClasses(nil)),
		"empty classes":  second(SpreadOfClasses([]stat.Class{{K: 3}, {K: 5, Count: nan}, {K: 6, Count: inf}})),
		"one in a class": second(SpreadOfClasses([]stat.Class{{K: 3, Count: 1}})),
	} {
		if ok {
			t.Errorf("%s made a spread", name)
		}
	}
	if v := variation(Lognormal(nan)); v != 0 {
		t.Errorf("no number made a variation of %g", v)
	}
}

func second(_ Spread, ok bool) bool { return ok }

// variation is the coefficient of variation.
func variation(s Spread) float64 {
	if len(s.values) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range s.values {
		sum += (x - 1) * (x - 1)
	}
	return math.Sqrt(sum / float64(len(s.values)))
}
