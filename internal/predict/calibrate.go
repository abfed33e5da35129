package predict

import (
	"math"

	"github.com/pipetune/pipetune/internal/stat"
)

// Calibration is how far the model itself was off in runs whose settings it had not seen. It widens every interval.
// The zero value says that the model was never held against such runs: intervals then hold what the inputs leave open
// and nothing of the model's own error, and whoever shows them must say so.
type Calibration struct {
	// Half-widths of the relative error of the rate at the intervals' confidence, 0..1.
	Model float64
	// Of the pace at which CPUs compute: how far that of another run was from the watched one's. It adds to Model as
	// far as the rate goes by it.
	Pace float64

	Source string // where they were measured
}

// Exposure is what decides how far off a forecast may be. The zero value is the surest.
type Exposure struct {
	// Pace is the part of a change of the CPUs' pace by which the rate changes, 0..1: nothing where a device or waiting
	// limits it, all of it where only computing does.
	Pace float64
	// Siblings is by how much the rate is lower, as a logarithm, if the CPUs beyond those that are known to compute at
	// full pace at once share their cores with them.
	Siblings float64
}

// Of is the error of a forecast that is exposed so: independent errors are added in squares, of logarithms.
func (c Calibration) Of(x Exposure) float64 {
	return math.Expm1(math.Hypot(math.Log1p(max(c.Model, 0)), x.Pace*math.Log1p(max(c.Pace, 0))))
}

// Widen adds the model's own error to an interval of what the inputs leave open, as independent errors are added: in
// squares, of logarithms.
func (c Calibration) Widen(s stat.Summary, x Exposure) stat.Summary {
	if !(s.Center > 0 && s.Lo > 0) {
		return s
	}
	own := math.Log1p(c.Of(x))
	below, above := max(math.Log(s.Center/s.Lo), 0), max(math.Log(s.Hi/s.Center), 0)
	s.Lo = s.Center * math.Exp(-math.Hypot(math.Hypot(below, own), x.Siblings))
	s.Hi = s.Center * math.Exp(math.Hypot(above, own))
	return s
}
