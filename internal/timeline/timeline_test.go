package timeline

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestThinHidesNothing: a spike of one window stays in its bucket, a window without a reading is none, and a bucket
// without any is left out.
func TestThinHidesNothing(t *testing.T) {
	windows := []Span{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 6.5}}
	num := []float64{0.5, 1, 0, math.NaN(), 0, 0, 0.5}
	den := []float64{1, 1, 0, 1, 0, 0, 0.5}
	want := []Bucket{{Span{0, 3}, 0.75, 0.5, 1}, {Span{6, 6.5}, 1, 1, 1}}
	if d := cmp.Diff(want, Thin(windows, num, den, 3)); d != "" {
		t.Error(d)
	}
	if got := Thin(windows, nil, nil, 3); got != nil {
		t.Errorf("%v of nothing", got)
	}
}
