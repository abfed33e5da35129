package watched

import (
	"math"
	"testing"
)

// TestRateInParts tells two rates apart by readings that hold some of both, and abstains where each holds as much of
// both.
func TestRateInParts(t *testing.T) {
	windows, parts := []Span{{0, 30}}, []Span{{3.3, 5.1}, {13.3, 15.1}, {23.3, 25.1}}
	read := func(every float64, parts []Span) *Track {
		out := &Track{Entity: "process/1.1"}
		for at := 0.0; at <= 30; at += every {
			inside := (Span{0, at}).Within(parts)
			out.At, out.V = append(out.At, at), append(out.V, 0.9*inside+0.2*(at-inside))
		}
		return out
	}
	for _, every := range []float64{0.1, 0.5, 2, 3} {
		if got, ok := read(every, parts).RateIn(windows, parts); !ok || math.Abs(got-0.9) > 1e-9 {
			t.Errorf("read every %g s: %g %v, want 0.9", every, got, ok)
		}
	}
	if got, ok := read(10, parts).RateIn(windows, parts); ok {
		t.Errorf("readings as far apart as the parts tell %g", got)
	}
	if got, ok := (*Track)(nil).RateIn(windows, parts); ok {
		t.Errorf("no readings tell %g", got)
	}
	if got, ok := read(0.5, parts).RateIn(windows, nil); ok {
		t.Errorf("no parts tell %g", got)
	}
}
