package predict

import (
	"math"
	"testing"
)

func TestSettingsThatStartProgramsAreLessSure(t *testing.T) {
	c := Calibration{NewPrograms: 0.3, Other: 0.1, Source: "a test"}
	p := slow()
	p.Starts[Spawn] = StartCost{Trainer: 0.01, Worker: 1.5, End: 0.01}
	width := func(set Setting) float64 {
		bare, ok := NewForecaster(p, Options{}).Forecast(set, Remedy{})
		own, ok2 := NewForecaster(p, Options{Calibration: c}).Forecast(set, Remedy{})
		if !ok || !ok2 {
			t.Fatalf("%+v was not predicted", set)
		}
		return math.Expm1(math.Sqrt(math.Pow(math.Log(own.StepsPerS.Hi/own.Rate),
			2) - math.Pow(math.Log(bare.StepsPerS.Hi/bare.Rate), 2)))
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
