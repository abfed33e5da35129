package watched

import (
	"math"
	"testing"
)

// TestLevels: a reading is of the time since the one before, but not of a hole, and one that goes on after the end of
// all is of none.
func TestLevels(t *testing.T) {
	track := &Track{At: []float64{1, 2, 3, 8, 9.5}, V: []float64{0.2, 0.4, 0.8, 0.5, 0.1}}
	spans := []Span{{0, 1}, {1.5, 2.5}, {2.5, 4}, {4, 5}, {5, 8}, {8, 9.25}}
	for i, want := range []float64{0.2, 0.6, 0.8, math.NaN(), 0.5, math.NaN()} {
		got := track.Levels(spans)[i]
		if math.IsNaN(want) != math.IsNaN(got) || math.Abs(got-want) > 1e-12 {
			t.Errorf("%v: %g, want %g", spans[i], got, want)
		}
	}
	for _, none := range []*Track{nil, {At: []float64{1}, V: []float64{0.2}}} {
		if got := none.Levels(spans[:1])[0]; !math.IsNaN(got) {
			t.Errorf("%g of a track without steps", got)
		}
	}
}
