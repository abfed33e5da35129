package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestCriticalU holds the exact distribution to the published table: critical values of the Mann-Whitney U, two-tailed,
// 0.05 (Siegel, 1956, table K; Milton, 1964).
func TestCriticalU(t *testing.T) {
	for _, c := range []struct{ n1, n2, want int }{
		{3, 4, -1}, {3, 5, 0}, {4, 4, 0}, {4, 5, 1}, {5, 5, 2}, {5, 10, 8}, {6, 6, 5}, {7, 7, 8}, {8, 8, 13},
		{9, 9, 17}, {10, 10, 23},
		{10, 20, 55}, {12, 12, 37}, {15, 15, 64}, {18, 18, 99}, {20, 20, 127}, {8, 19, 38},
	} {
		if got, _ := criticalU(c.n1, c.n2); got != c.want {
			t.Errorf("n = %d and %d: %d, the table says %d", c.n1, c.n2, got, c.want)
		}
		if got, _ := criticalU(c.n2, c.n1); got != c.want {
			t.Errorf("n = %d and %d: %d, the table says %d", c.n2, c.n1, got, c.want)
		}
	}
	if counts := ways(4, 4); counts[0] != 1 || counts[1] != 1 || counts[2] != 2 || counts[8] != 8 {
		t.Errorf("orders of 4 and 4: %v", counts)
	}
}

func TestShift(t *testing.T) {
	low, high := []float64{1, 2, 3, 4, 5, 6}, []float64{11, 12, 13, 14, 15, 16}
	s := Shift(low, high)
	if s.Center != 10 || !(s.Lo > 0 && s.Lo < 10 && s.Hi > 10) || s.Confidence < Confidence || s.N != 6 {
		t.Errorf("ten above: %+v", s)
	}
	back := Shift(high, low)
	if back.Center != -s.Center || back.Lo != -s.Hi || back.Hi != -s.Lo {
		t.Errorf("sides swapped: %+v and %+v", s, back)
	}
	if s := Shift(low[:3], high[:3]); s.Confidence != 0 || s.Lo != s.Center {
		t.Errorf("three and three make no interval at 95 %%: %+v", s)
	}
	if s := Shift(nil, high); s != (Summary{}) {
		t.Errorf("nothing before: %+v", s)
	}
	if s := Shift([]float64{math.NaN()}, high); s.N != 0 {
		t.Errorf("no reading before: %+v", s)
	}
}

// TestShiftAgreesWithTheTest: the interval holds 0 exactly where the test finds no difference, below and above the
// exact distribution's limit.
func TestShiftAgreesWithTheTest(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{4, 7, 12, 20} {
		for range 200 {
			a, b := make([]float64, n), make([]float64, n+n%3)
			for i := range a {
				a[i] = rng.NormFloat64()
			}
			for i := range b {
				b[i] = rng.NormFloat64() + 0.8
			}
			s, p := Shift(a, b), Compare(a, b)
			if excludes := s.Lo > 0 || s.Hi < 0; excludes != (p < 1-Confidence) {
				t.Fatalf("n = %d: interval %v..%v, p = %v", n, s.Lo, s.Hi, p)
			}
		}
	}
}

// TestShiftCovers measures how often the interval holds the truth.
func TestShiftCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, n := range []int{6, 12, 40} {
		held, runs := 0, 1000
		for range runs {
			a, b := chain(rng, n, 0), chain(rng, n, 0)
			for i := range b {
				b[i] += 5
			}
			if s := Shift(a, b); s.Lo <= 5 && 5 <= s.Hi {
				held++
			}
		}
		if share := float64(held) / float64(runs); share < 0.93 {
			t.Errorf("n = %d: covers %.3f", n, share)
		}
	}
}
