package report

import "testing"

func TestRough(t *testing.T) {
	for _, c := range []struct {
		center, lo, hi, confidence float64
		want                       bool
	}{
		{100, 96, 104, 0.95, false}, {100, 94, 104, 0.95, true}, {100, 96, 106, 0.95, true}, {100, 100, 100, 0, true},
	} {
		if got := Rough(c.center, c.lo, c.hi, c.confidence); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
