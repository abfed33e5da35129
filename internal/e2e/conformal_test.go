package e2e

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
)

// heldTrial is a forecast that was held against a run.
type heldTrial struct {
	forecast stat.Summary // of a rate, with the zero predict.Calibration
	observed float64      // the same rate, above 0
	base     float64      // error that is known to come of something else
	exposed  float64      // part by which the error that is asked for reaches the rate, up to 1; 0 = all of it
}

// calibrate returns the least error of a predict.Calibration with whose intervals so many of the trials hold what was
// observed, confidence being the share, that one more trial like them is expected to do so as often: their
// ⌈(n+1)·confidence⌉-th smallest (split conformal prediction, Lei et al., "Distribution-Free Predictive Inference for
// Regression", 2018). False where the trials are too few for that, or one of them is no rate. Trials that it was
// reckoned from say nothing about how well it holds.
func calibrate(trials []heldTrial, confidence float64) (float64, bool) {
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

// own is the model's own error, as a logarithm, with which the interval just reaches what was observed: nothing where
// it does without.
func (t heldTrial) own() float64 {
	f := t.forecast
	if !(f.Center > 0 && f.Lo > 0 && t.observed > 0) {
		return math.NaN()
	}
	off, open := math.Log(t.observed/f.Center), max(math.Log(f.Hi/f.Center), 0)
	if off < 0 {
		off, open = -off, max(math.Log(f.Center/f.Lo), 0)
	}
	own := math.Sqrt(max(off*off-open*open-math.Pow(math.Log1p(t.base), 2), 0))
	if t.exposed > 0 {
		return own / t.exposed
	}
	return own
}

// manyTrials are forecasts that are off by deviation at random, in logarithms, and say part of it.
func manyTrials(dice *rand.Rand, n int, deviation, told float64) []heldTrial {
	out := make([]heldTrial, n)
	for i := range out {
		center := 1 + 99*dice.Float64()
		out[i].forecast = stat.Summary{Center: center, Lo: center * math.Exp(-told), Hi: center * math.Exp(told)}
		out[i].observed = center * math.Exp(deviation*dice.NormFloat64())
	}
	return out
}

func coverage(c predict.Calibration, all []heldTrial) float64 {
	n := 0.0
	for _, t := range all {
		if s := c.Widen(t.forecast, predict.Exposure{}); t.observed >= s.Lo && t.observed <= s.Hi {
			n++
		}
	}
	return n / float64(len(all))
}

// Over many draws, what 40 trials teach holds for others as often as asked for, however much of the error the inputs
// tell already.
func TestCalibrateCoversTrialsItDidNotSee(t *testing.T) {
	for _, told := range []float64{0, 0.02, 0.05} {
		dice, sum := rand.New(rand.NewPCG(7, 1)), 0.0
		const draws = 400
		for range draws {
			e, ok := calibrate(manyTrials(dice, 40, 0.06, told), 0.9)
			if !ok || !(e > 0) {
				t.Fatalf("no error from 40 trials: %g, %t", e, ok)
			}
			sum += coverage(predict.Calibration{Model: e}, manyTrials(dice, 200, 0.06, told))
		}
		if cover := sum / draws; math.Abs(cover-0.9) > 0.02 {
			t.Errorf("with ±%g told, intervals hold %.1f %% of what they had not seen, want 90 %%", told, 100*cover)
		}
	}
}

func TestCalibrateWidensNoIntervalThatHolds(t *testing.T) {
	all := manyTrials(rand.New(rand.NewPCG(8, 1)), 50, 0.01, 0.2)
	if e, ok := calibrate(all, 0.9); !ok || e != 0 {
		t.Errorf("an error of %g, %t, where the inputs' intervals are wide enough", e, ok)
	}
	if s := (predict.Calibration{}).Widen(all[0].forecast,
		predict.Exposure{Pace: 1}); math.Abs(s.Lo/all[0].forecast.Lo-1) > 1e-12 ||
		math.Abs(s.Hi/all[0].forecast.Hi-1) > 1e-12 {
		t.Errorf("no error made %+v of %+v", s, all[0].forecast)
	}
}

func TestCalibrateNeedsTrials(t *testing.T) {
	all := manyTrials(rand.New(rand.NewPCG(9, 1)), 9, 0.05, 0)
	if _, ok := calibrate(all, 0.9); !ok {
		t.Error("nine trials reach 90 %")
	}
	if e, ok := calibrate(all[:8], 0.9); ok {
		t.Errorf("eight trials cannot say what holds for nine of ten; got %g", e)
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		all[3].observed = bad
		if e, ok := calibrate(all, 0.9); ok {
			t.Errorf("observing %g gave %g", bad, e)
		}
	}
}
