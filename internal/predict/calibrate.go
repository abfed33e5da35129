package predict

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/stat"
)

// Calibration is how far the model itself was off in runs whose settings it had not seen. It widens every interval. The zero value
// says that the model was never held against such runs: intervals then hold what the inputs leave open and nothing of the model's own
// error, and whoever shows them must say so.
type Calibration struct {
	// Half-widths of the relative error of the rate at the intervals' confidence, 0..1: of settings whose epochs start their workers as new
	// programs (Forecast.NewPrograms), and of all others.
	NewPrograms, Other float64

	Source string // where they were measured
}

// of is the error that fits a setting.
func (c Calibration) of(newPrograms bool) float64 {
	if newPrograms {
		return max(c.NewPrograms, 0)
	}
	return max(c.Other, 0)
}

// Widen adds the model's own error to an interval of what the inputs leave open, as independent errors are added: in squares, of logarithms.
func (c Calibration) Widen(s stat.Summary, newPrograms bool) stat.Summary {
	if !(s.Center > 0 && s.Lo > 0) {
		return s
	}
	own := math.Log1p(c.of(newPrograms))
	below, above := max(math.Log(s.Center/s.Lo), 0), max(math.Log(s.Hi/s.Center), 0)
	s.Lo, s.Hi = s.Center*math.Exp(-math.Hypot(below, own)), s.Center*math.Exp(math.Hypot(above, own))
	return s
}

// Trial is a forecast that was held against a run.
type Trial struct {
	Forecast stat.Summary // of a rate, with the zero Calibration
	Observed float64      // the same rate, above 0
}

// Calibrate returns the least error of a Calibration with whose intervals so many of the trials hold what was observed, confidence being
// the share, that one more trial like them is expected to do so as often: their ⌈(n+1)·confidence⌉-th smallest (split conformal prediction,
// Lei et al., "Distribution-Free Predictive Inference for Regression", 2018). False where the trials are too few for that, or one of
// them is no rate. Trials that it was reckoned from say nothing about how well it holds.
func Calibrate(trials []Trial, confidence float64) (float64, bool) {
	rank := int(math.Ceil(float64(len(trials)+1)*confidence - 1e-9))
	if !(confidence > 0) || rank > len(trials) {
		return 0, false
	}
	own := make([]float64, len(trials))
	for i, t := range trials {
		if own[i] = t.own(); math.IsNaN(own[i]) || math.IsInf(own[i], 1) {
			return 0, false
		}
	}
	slices.Sort(own)
	return math.Expm1(own[rank-1]), true
}

// own is the model's own error, as a logarithm, with which the interval just reaches what was observed: nothing where it does without.
func (t Trial) own() float64 {
	f := t.Forecast
	if !(f.Center > 0 && f.Lo > 0 && t.Observed > 0) {
		return math.NaN()
	}
	off, open := math.Log(t.Observed/f.Center), max(math.Log(f.Hi/f.Center), 0)
	if off < 0 {
		off, open = -off, max(math.Log(f.Center/f.Lo), 0)
	}
	return math.Sqrt(max(off*off-open*open, 0))
}
