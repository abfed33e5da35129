package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRatioIsARatioOfSums(t *testing.T) {
	s := Ratio([]float64{1, 40}, []float64{1, 100})
	if want := 41.0 / 101; math.Abs(s.Center-want) > 1e-12 {
		t.Errorf("Center = %v, want %v", s.Center, want)
	}
	if s.N != 2 || s.Confidence != 0 || s.Lo != s.Center || s.Hi != s.Center {
		t.Errorf("two windows must give no interval: %+v", s)
	}
}

func TestRatioLeavesOutWhatIsNoReading(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	s := Ratio([]float64{1, nan, 1, inf, 5, 1}, []float64{2, 2, nan, 2, 0, 2})
	if s.N != 3 || s.Center != 7.0/4 {
		t.Errorf("got %+v, want 7/4 of 3 windows", s)
	}
	if s := Ratio([]float64{1, 2}, []float64{0, 0}); s.N != 0 {
		t.Errorf("something per nothing summarised to %+v", s)
	}
	if s := Ratio(nil, nil); s != (Summary{}) {
		t.Errorf("nothing summarised to %+v", s)
	}
	if s := Ratio([]float64{math.MaxFloat64, math.MaxFloat64}, []float64{1, 1}); s.N != 0 {
		t.Errorf("an overflow summarised to %+v", s)
	}
}

func TestRatioIsDeterministic(t *testing.T) {
	num, den := autocorrelated(rand.New(rand.NewPCG(1, 1)), 25, 0.4)
	a, b := Ratio(num, den), Ratio(num, den)
	if a.Lo != b.Lo || a.Hi != b.Hi {
		t.Errorf("the same windows gave %+v and %+v", a, b)
	}
	if !(a.Lo < a.Center && a.Center < a.Hi) {
		t.Errorf("interval %v..%v does not hold its center %v", a.Lo, a.Hi, a.Center)
	}
}

func TestRatioOfConstantWindowsHasNoWidth(t *testing.T) {
	s := Ratio(slices.Repeat([]float64{3}, 20), slices.Repeat([]float64{4}, 20))
	if s.Lo != 0.75 || s.Hi != 0.75 || s.Confidence != Confidence {
		t.Errorf("got %+v, want exactly 0.75", s)
	}
}

// TestRatioCovers measures how often the interval holds the truth, for shares of looks whose windows resemble their
// neighbours with correlation 0 and 0.4. 0.4 is more than was seen between windows of 1 s of real loaders.
func TestRatioCovers(t *testing.T) {
	for _, c := range []struct {
		windows     int
		correlation float64
		atLeast     float64
	}{{8, 0, 0.90}, {12, 0, 0.90}, {25, 0, 0.92}, {25, 0.4, 0.85}, {60, 0.4, 0.88}} {
		rng := rand.New(rand.NewPCG(uint64(c.windows), 7))
		held, runs := 0, 400
		for range runs {
			num, den := autocorrelated(rng, c.windows, c.correlation)
			if s := Ratio(num, den); s.Lo <= 0.4 && 0.4 <= s.Hi {
				held++
			}
		}
		share := float64(held) / float64(runs)
		t.Logf("%d windows, correlation %v: covers %.3f", c.windows, c.correlation, share)
		if share < c.atLeast {
			t.Errorf("%d windows, correlation %v: covers %.3f, want at least %v", c.windows, c.correlation, share,
				c.atLeast)
		}
	}
}

// autocorrelated makes windows of 50 looks whose true share is 0.4 and moves as a first-order autoregression.
func autocorrelated(rng *rand.Rand, n int, correlation float64) (num, den []float64) {
	x := rng.NormFloat64()
	for range n {
		share := min(max(0.4+0.12*x, 0), 1)
		hits := 0.0
		for range 50 {
			if rng.Float64() < share {
				hits++
			}
		}
		num, den = append(num, hits), append(den, 50)
		x = correlation*x + math.Sqrt(1-correlation*correlation)*rng.NormFloat64()
	}
	return num, den
}

func FuzzSummaries(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Add([]byte{0xff, 0xff, 0x7f, 0x80, 0, 9})
	f.Fuzz(func(t *testing.T, raw []byte) {
		xs, ys := wild(raw), wild(append([]byte{7}, raw...))
		for name, s := range map[string]Summary{"Median": Median(xs), "Ratio": Ratio(xs, ys), "Trend": Trend(xs, ys)} {
			if !Finite(s.Center) || !Finite(s.Lo) || !Finite(s.Hi) || !(s.Lo <= s.Center && s.Center <= s.Hi) {
				t.Errorf("%s(%v, %v) = %+v", name, xs, ys, s)
			}
		}
		if p := Compare(xs, ys); !(p >= 0 && p <= 1) {
			t.Errorf("Compare(%v, %v) = %v", xs, ys, p)
		}
		if n := Warmup(xs, 0.05); n < 0 || n > len(xs)/2 {
			t.Errorf("Warmup(%v) = %d of %d", xs, n, len(xs))
		}
	})
}

// wild turns bytes into numbers of all sizes, not-a-number and infinities among them.
func wild(raw []byte) []float64 {
	var xs []float64
	for _, b := range raw {
		switch b {
		case 0xff:
			xs = append(xs, math.NaN())
		case 0xfe:
			xs = append(xs, math.Inf(1))
		case 0xfd:
			xs = append(xs, -math.MaxFloat64)
		case 0xfc:
			xs = append(xs, math.MaxFloat64)
		default:
			xs = append(xs, float64(int8(b)))
		}
	}
	return xs
}

// TestRatioOfRoundsCovers: seven windows of which two always wait, whatever the others do. The interval tells how
// rounds differ, which is less by far than windows do; of two rounds it goes by windows.
func TestRatioOfRoundsCovers(t *testing.T) {
	const round, truth = 7, (2 + 5*0.3) / 7
	for _, c := range []struct {
		rounds  int
		atLeast float64
		width   float64 // at most, of that by windows
	}{{2, 0.99, 1}, {3, 0.93, 0.65}, {5, 0.93, 0.5}, {10, 0.93, 0.5}} {
		rng := rand.New(rand.NewPCG(uint64(c.rounds), 8))
		held, runs, width, windows := 0, 400, 0.0, 0.0
		for range runs {
			var num []float64
			for range c.rounds {
				of := 0.08 * rng.NormFloat64() // this round
				for i := range round {
					share := 1.0
					if i >= 2 {
						share = min(max(0.3+of+0.1*rng.NormFloat64(), 0), 1)
					}
					num = append(num, share)
				}
			}
			den := slices.Repeat([]float64{1}, len(num))
			s, by := RatioOfRounds(num, den, round), Ratio(num, den)
			if s.Lo <= truth && truth <= s.Hi {
				held++
			}
			width, windows = width+s.Hi-s.Lo, windows+by.Hi-by.Lo
		}
		share := float64(held) / float64(runs)
		t.Logf("%d rounds: covers %.3f, %.2f times as wide as by windows", c.rounds, share, width/windows)
		if share < c.atLeast || width > c.width*windows {
			t.Errorf("%d rounds: covers %.3f, want at least %v; %.2f times as wide as by windows, want at most %v",
				c.rounds, share, c.atLeast, width/windows, c.width)
		}
	}
}
