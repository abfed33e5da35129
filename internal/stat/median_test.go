package stat

import (
	"math"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		name           string
		xs             []float64
		center, lo, hi float64
		confident      bool
		n              int
	}{
		{"one", []float64{4}, 4, 4, 4, false, 1},
		{"five are too few", []float64{5, 1, 2, 4, 3}, 3, 3, 3, false, 5},
		{"six give the extremes", []float64{6, 1, 5, 2, 4, 3}, 3.5, 1, 6, true, 6},
		{"wild values do not move it", []float64{1, 1, 1, 1, 1, 1, 1, 1, 1e9}, 1, 1, 1, true, 9},
		{"not a number is no reading", []float64{math.NaN(), 2, math.Inf(-1)}, 2, 2, 2, false, 1},
	} {
		s := Median(c.xs)
		if s.Center != c.center || s.Lo != c.lo || s.Hi != c.hi || s.N != c.n ||
			(s.Confidence >= Confidence) != c.confident {
			t.Errorf("%s: got %+v", c.name, s)
		}
	}
	if s := Median(nil); s != (Summary{}) {
		t.Errorf("median of nothing: %+v", s)
	}
}

func TestMedianLeavesItsInputAlone(t *testing.T) {
	xs := []float64{3, 1, 2}
	Median(xs)
	Quantile(xs, 0.5)
	Compare(xs, xs)
	if xs[0] != 3 || xs[1] != 1 || xs[2] != 2 {
		t.Errorf("input was sorted: %v", xs)
	}
}

func TestQuantile(t *testing.T) {
	xs := []float64{4, 1, 3, 2, math.NaN()}
	for q, want := range map[float64]float64{0: 1, 0.5: 2.5, 1: 4, 1.0 / 3: 2, -1: 1, 2: 4} {
		if got, ok := Quantile(xs, q); !ok || math.Abs(got-want) > 1e-12 {
			t.Errorf("Quantile(%v) = %v, %v; want %v", q, got, ok, want)
		}
	}
	if _, ok := Quantile(nil, 0.5); ok {
		t.Error("a quantile of nothing")
	}
	if _, ok := Quantile(xs, math.NaN()); ok {
		t.Error("a quantile at no number")
	}
}

func TestCompare(t *testing.T) {
	low, high := []float64{1, 2, 3, 4, 5, 6}, []float64{11, 12, 13, 14, 15, 16}
	if p := Compare(low, high); p >= 1-Confidence {
		t.Errorf("apart: %v", p)
	}
	for name, x := range map[string]struct{ before, after []float64 }{
		"alike":                         {low, []float64{6, 1, 5, 2, 4, 3}},
		"two readings each cannot tell": {low[:2], high[:2]},
		"nothing to compare with":       {low, nil},
		"all equal":                     {[]float64{1, 1}, []float64{1, 1}},
	} {
		if p := Compare(x.before, x.after); p < 1-Confidence {
			t.Errorf("%s: %v", name, p)
		}
	}
}

func TestTrend(t *testing.T) {
	var at, line, broken []float64
	for i := range 300 {
		x := float64(i)
		at, line = append(at, x/10), append(line, 7+2*x/10)
		if i%5 == 0 {
			x = 1e7
		}
		broken = append(broken, 7+2*x/10)
	}
	if s := Trend(at, line); math.Abs(s.Center-2) > 1e-9 || s.Confidence != Confidence {
		t.Errorf("a line of slope 2: %+v", s)
	}
	if s := Trend(at, broken); math.Abs(s.Center-2) > 0.2 {
		t.Errorf("a fifth of wild points moved the slope to %v", s.Center)
	}
	if s := Trend([]float64{1, 1}, []float64{1, 2}); s.N != 0 {
		t.Errorf("one time gave a slope: %+v", s)
	}
	if s := Trend([]float64{1, 2}, []float64{1, 2}); s.Center != 1 || s.Confidence != 0 {
		t.Errorf("two points: %+v", s)
	}
}

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
