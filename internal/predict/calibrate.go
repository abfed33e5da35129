package predict

import (
	"math"

	"github.com/pipetune/pipetune/internal/stat"
)

// Calibration is how far the model itself was off in runs whose settings it had not seen. It widens every interval.
// The zero value says that the model was never held against such runs: intervals then hold what the inputs leave open
// and nothing of the model's own error, and whoever shows them must say so.
type Calibration struct {
	// Half-widths of the relative error of the rate at the intervals' confidence, 0..1, by Kind. CPUs is never taken to
	// be less than Other.
	NewPrograms, CPUs, Other float64

	Source string // where they were measured
}

// Kind is what decides how far off a forecast may be; the surest first.
type Kind uint8

// The kinds.
const (
	Other       Kind = iota
	CPULimited       // the cores are the limit: how much work a core does depends on what the other cores do
	NewPrograms      // each epoch starts workers as new programs (spawn, forkserver), or in a way that was not seen
)

// Of is the error that fits a kind.
func (c Calibration) Of(k Kind) float64 {
	switch k {
	case NewPrograms:
		return max(c.NewPrograms, 0)
	case CPULimited:
		return max(c.CPUs, c.Other, 0)
	}
	return max(c.Other, 0)
}

// Widen adds the model's own error to an interval of what the inputs leave open, as independent errors are added: in
// squares, of logarithms.
func (c Calibration) Widen(s stat.Summary, k Kind) stat.Summary {
	if !(s.Center > 0 && s.Lo > 0) {
		return s
	}
	own := math.Log1p(c.Of(k))
	below, above := max(math.Log(s.Center/s.Lo), 0), max(math.Log(s.Hi/s.Center), 0)
	s.Lo, s.Hi = s.Center*math.Exp(-math.Hypot(below, own)), s.Center*math.Exp(math.Hypot(above, own))
	return s
}
