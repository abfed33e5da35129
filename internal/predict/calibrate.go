package predict

import (
	"math"

	"github.com/pipetune/pipetune/internal/stat"
)

// Calibration is how far the model itself was off in runs whose settings it had not seen. It widens every interval.
// The zero value says that the model was never held against such runs: intervals then hold what the inputs leave open
// and nothing of the model's own error, and whoever shows them must say so.
type Calibration struct {
	// Half-widths of the relative error of the rate at the intervals' confidence, 0..1: of settings whose epochs
	// start their workers as new programs (Forecast.NewPrograms), and of all others.
	NewPrograms, Other float64

	Source string // where they were measured
}

// Widen adds the model's own error to an interval of what the inputs leave open, as independent errors are added: in
// squares, of logarithms.
func (c Calibration) Widen(s stat.Summary, newPrograms bool) stat.Summary {
	if !(s.Center > 0 && s.Lo > 0) {
		return s
	}
	off := c.Other
	if newPrograms {
		off = c.NewPrograms
	}
	own := math.Log1p(max(off, 0))
	below, above := max(math.Log(s.Center/s.Lo), 0), max(math.Log(s.Hi/s.Center), 0)
	s.Lo, s.Hi = s.Center*math.Exp(-math.Hypot(below, own)), s.Center*math.Exp(math.Hypot(above, own))
	return s
}
