package predict

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pipetune/pipetune/internal/stat"
)

// trials are forecasts that are off by deviation at random, in logarithms, and say part of it.
func trials(dice *rand.Rand, n int, deviation, told float64) []Trial {
	out := make([]Trial, n)
	for i := range out {
		center := 1 + 99*dice.Float64()
		out[i] = Trial{stat.Summary{Center: center, Lo: center * math.Exp(-told), Hi: center * math.Exp(told)}, center * math.Exp(deviation*dice.NormFloat64())}
	}
	return out
}

func inside(c Calibration, all []Trial) float64 {
	n := 0.0
	for _, t := range all {
		if s := c.Widen(t.Forecast, false); t.Observed >= s.Lo && t.Observed <= s.Hi {
			n++
		}
	}
	return n / float64(len(all))
}

// Over many draws, what 40 trials teach holds for others as often as asked for, however much of the error the inputs tell already.
func TestCalibrateCoversTrialsItDidNotSee(t *testing.T) {
	for _, told := range []float64{0, 0.02, 0.05} {
		dice, sum := rand.New(rand.NewPCG(7, 1)), 0.0
		const draws = 400
		for range draws {
			e, ok := Calibrate(trials(dice, 40, 0.06, told), 0.9)
			if !ok || !(e > 0) {
				t.Fatalf("no error from 40 trials: %g, %t", e, ok)
			}
			sum += inside(Calibration{Other: e}, trials(dice, 200, 0.06, told))
		}
		if cover := sum / draws; math.Abs(cover-0.9) > 0.02 {
			t.Errorf("with ±%g told, intervals hold %.1f %% of what they had not seen, want 90 %%", told, 100*cover)
		}
	}
}

func TestCalibrateWidensNoIntervalThatHolds(t *testing.T) {
	all := trials(rand.New(rand.NewPCG(8, 1)), 50, 0.01, 0.2)
	if e, ok := Calibrate(all, 0.9); !ok || e != 0 {
		t.Errorf("an error of %g, %t, where the inputs' intervals are wide enough", e, ok)
	}
	if s := (Calibration{}).Widen(all[0].Forecast, true); math.Abs(s.Lo/all[0].Forecast.Lo-1) > 1e-12 || math.Abs(s.Hi/all[0].Forecast.Hi-1) > 1e-12 {
		t.Errorf("no error made %+v of %+v", s, all[0].Forecast)
	}
}

func TestCalibrateNeedsTrials(t *testing.T) {
	all := trials(rand.New(rand.NewPCG(9, 1)), 9, 0.05, 0)
	if _, ok := Calibrate(all, 0.9); !ok {
		t.Error("nine trials reach 90 %")
	}
	if e, ok := Calibrate(all[:8], 0.9); ok {
		t.Errorf("eight trials cannot say what holds for nine of ten; got %g", e)
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		all[3].Observed = bad
		if e, ok := Calibrate(all, 0.9); ok {
			t.Errorf("observing %g gave %g", bad, e)
		}
	}
}

func TestSettingsThatStartProgramsAreLessSure(t *testing.T) {
	c := Calibration{NewPrograms: 0.3, Other: 0.1, Source: "a test"}
	p := slow()
	p.Starts[Spawn] = StartCost{Trainer: 0.01, Worker: 1.5, End: 0.01}
	width := func(set Setting) float64 {
		bare, ok := NewForecaster(p, Options{}).Forecast(set)
		own, ok2 := NewForecaster(p, Options{Calibration: c}).Forecast(set)
		if !ok || !ok2 {
			t.Fatalf("%+v was not predicted", set)
		}
		return math.Expm1(math.Sqrt(math.Pow(math.Log(own.StepsPerS.Hi/own.Rate), 2) - math.Pow(math.Log(bare.StepsPerS.Hi/bare.Rate), 2)))
	}
	for set, want := range map[Setting]float64{
		{Workers: 2, Start: Spawn}: 0.3, {Workers: 2}: 0.3, // how an unseen one starts is not known
		{Workers: 2, Start: Spawn, Persistent: true}: 0.1, {Workers: 2, Start: Fork}: 0.1, {}: 0.1,
	} {
		if got := width(set); math.Abs(got-want) > 1e-6 {
			t.Errorf("%+v: widened by %g, want %g", set, got, want)
		}
	}
	p.Epoch = 0
	if got := width(Setting{Workers: 2, Start: Spawn}); math.Abs(got-0.1) > 1e-6 {
		t.Errorf("in an epoch without end nothing starts anew, and yet it is widened by %g", got)
	}
}
