package document

import (
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// TestMovementKeepsUnits: the unit stands once where both ends have it, and with its end where they differ.
func TestMovementKeepsUnits(t *testing.T) {
	for _, c := range []struct {
		lo, hi     float64
		difference bool
		want       string
	}{
		{0.5, 1.2, false, "+50 to +120 %"},
		{8.5, 12, false, "+850 % to ×13"},
		{11, 14, false, "×12 to ×15"},
		{-0.4, -0.1, true, "-40 to -10 pt"},
	} {
		_, got := movement(report.Change{Change: &c.hi, Lo: &c.lo, Hi: &c.hi, Difference: c.difference})
		if got != c.want {
			t.Errorf("%v to %v: %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
}
