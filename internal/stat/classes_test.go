package stat

import (
	"math"
	"testing"
)

func TestClassQuantile(t *testing.T) {
	classes := []Class{{K: 60, Count: 3}, {K: 80, Count: 1}} // three of 1 ms and more, one of 10 ms and more
	for part, want := range map[float64]float64{0: 1e-3, 0.75: 1e-3 * math.Pow(10, 1.0/20), 1: 10e-3 * math.Pow(10,
		1.0/20)} {
		if got, ok := ClassQuantile(classes, part); !ok || math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%v of them take up to %v s (%v), want %v", part, got, ok, want)
		}
	}
	if _, ok := ClassQuantile(nil, 0.5); ok {
		t.Error("a quantile of nothing")
	}
}
