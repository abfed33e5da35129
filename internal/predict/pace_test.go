package predict

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/stat"
)

// How far a rate goes by the CPUs' pace is what part of the time that limits it is spent computing.
func TestExposureToTheCPUsPace(t *testing.T) {
	even := func(step, trainer, held, cpu, wait float64) Pipeline {
		return Pipeline{Loader: Loader{FreeStep: stat.Exact(step), TrainerCPU: stat.Exact(trainer), TrainerStep: held,
			CPU: stat.Exact(cpu), Wait: stat.Exact(wait), CPUs: stat.Exact(4), UsableCPUs: 4}}
	}
	part := func(computing, all float64) float64 {
		return math.Log((computing*slowdown+all-computing)/all) / math.Log(slowdown)
	}
	for name, tt := range map[string]struct {
		pipeline Pipeline
		workers  int
		want     float64
	}{
		"workers that compute":                {even(0.01, 0.001, 0, 0.1, 0), 1, 1},
		"workers that mostly wait":            {even(0.01, 0.001, 0, 0.02, 0.08), 1, part(0.02, 0.1)},
		"workers that only wait":              {even(0.01, 0.001, 0, 0, 0.1), 1, 0},
		"a device behind the trainer":         {even(0.1, 0.02, 0.02, 0.01, 0), 2, 0},
		"a device that the trainer awaits":    {even(0.1, 0.02, 0, 0.01, 0), 2, part(0.02, 0.1)},
		"the trainer's own computing":         {even(0.1, 0.1, 0, 0.01, 0), 2, 1},
		"full CPUs":                           {even(0.01, 0.001, 0, 0.1, 0), 8, 1},
		"no workers, a device, and then data": {even(0.05, 0, 0, 0.05, 0), 0, part(0.05, 0.1)},
	} {
		set := Setting{Workers: tt.workers, Persistent: true}
		f, ok := NewForecaster(tt.pipeline, Options{}).Forecast(set, Remedy{})
		if got := f.Exposure.Pace; !ok || math.Abs(got-tt.want) > 0.02 {
			t.Errorf("%s: %.3f of the pace reaches the rate, %t; want %.3f", name, got, ok, tt.want)
		}
	}
}

func TestPaceWidensAsFarAsItReaches(t *testing.T) {
	c := Calibration{Model: 0.1, Pace: 0.3}
	for x, want := range map[Exposure]float64{
		{}:          0.1,
		{Pace: 1}:   math.Expm1(math.Hypot(math.Log(1.1), math.Log(1.3))),
		{Pace: 0.5}: math.Expm1(math.Hypot(math.Log(1.1), math.Log(1.3)/2)),
	} {
		if got := c.Of(x); math.Abs(got-want) > 1e-12 {
			t.Errorf("%+v: ±%g, want ±%g", x, got, want)
		}
	}
	if got := (Calibration{}).Of(Exposure{Pace: 1}); got != 0 {
		t.Errorf("an error that was never measured is %g", got)
	}
}

// What the pace was before is known: it was seen. A gain is as unsure as what comes after.
func TestGainIsExposedAsWhatComesAfter(t *testing.T) {
	p := slow()
	wide := NewForecaster(p, Options{Calibration: Calibration{Pace: 0.5}})
	bare := NewForecaster(p, Options{})
	gain := func(f *Forecaster) stat.Summary {
		before, _ := f.Forecast(Setting{Workers: 1}, Remedy{})
		after, ok := f.Forecast(Setting{Workers: 1}, Remedy{Saved: 1}) // the step is what remains
		if !ok {
			t.Fatal("nothing was predicted")
		}
		return f.Gain(before, after)
	}
	w, b := gain(wide), gain(bare)
	own := math.Sqrt(math.Pow(math.Log(w.Hi/w.Center), 2) - math.Pow(math.Log(b.Hi/b.Center), 2))
	if want := 0.22 * math.Log(1.5); math.Abs(own-want) > 0.02 { // a fifth of the step computes
		t.Errorf("the gain is widened by %g, want %g", own, want)
	}
}

// Where CPUs may share cores, a rate is unsure as far as it takes more of them at once than are known to be whole, and
// only downwards.
func TestSiblingsLowerWhatComputesAtOnce(t *testing.T) {
	p := Pipeline{Loader: Loader{FreeStep: stat.Exact(0.01), CPU: stat.Exact(0.1), CPUs: stat.Exact(2), UsableCPUs: 2,
		FullCPUs: 1}}
	shared := 2 / (1 + sibling) // of two workers that compute
	for name, tt := range map[string]struct {
		workers    int
		full, cpu  float64
		lower, off float64
	}{
		"one worker":              {1, 1, 0.1, 1, 0.01},
		"two workers":             {2, 1, 0.1, shared, 0.05},
		"two, with a core each":   {2, 2, 0.1, 1, 0},
		"two, and nothing known":  {2, 0, 0.1, 1, 0},
		"two that hardly compute": {2, 1, 0.001, 1, 0.05},
	} {
		p := p
		p.FullCPUs, p.CPU = tt.full, stat.Exact(tt.cpu)
		p.Wait = stat.Exact(0.1 - tt.cpu)
		f, ok := NewForecaster(p, Options{}).Forecast(Setting{Workers: tt.workers, Persistent: true}, Remedy{})
		if got := math.Exp(f.Exposure.Siblings); !ok || math.Abs(got-tt.lower) > tt.off {
			t.Errorf("%s: %.3f times lower, %t; want %.3f", name, got, ok, tt.lower)
		}
		s := f.StepsPerS
		if got := s.Center / s.Lo; got < tt.lower-tt.off || s.Hi/s.Center > 1.05 {
			t.Errorf("%s: %+v, want %.3f times lower at most", name, s, tt.lower)
		}
	}
}
