package predict

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/stat"
)

// slow is a loader of one worker whose batches take eight steps to make, on a machine with room.
func slow() Pipeline {
	return Pipeline{
		Loader: Loader{FreeStep: around(0.1, 0.05), CPU: around(0.7, 0.1), Wait: around(0.1, 0.1),
			TrainerCPU: around(0.02, 0.1), CPUs: stat.Exact(16), UsableCPUs: 16, BatchBytes: 10e6, WorkerBytes: 200e6,
			ShmFree: 8e9, Available: 64e9},
		Setting: Setting{Workers: 1, Prefetch: 2}, Fetch: Lognormal(0.3), Epoch: 500,
		Receive: 5e-4, Dispatch: 2e-4, Start: StartCost{Trainer: 0.01, End: 0.005},
	}
}

func TestForecastIsRepeatable(t *testing.T) {
	first, ok := NewForecaster(slow(), Options{Seed: 7}).Forecast(Setting{Workers: 6}, Remedy{})
	second, _ := NewForecaster(slow(), Options{Seed: 7}).Forecast(Setting{Workers: 6}, Remedy{})
	if !ok || !reflect.DeepEqual(first, second) {
		t.Errorf("two forecasts with one seed differ: %+v and %+v", first, second)
	}
	f := NewForecaster(slow(), Options{})
	f.Forecast(Setting{Workers: 3, Prefetch: 7}, Remedy{})
	again, _ := f.Forecast(Setting{Workers: 6}, Remedy{})
	fresh, _ := NewForecaster(slow(), Options{}).Forecast(Setting{Workers: 6}, Remedy{})
	if !reflect.DeepEqual(again, fresh) {
		t.Error("a forecast depends on what was forecast before it")
	}
}

// The seed is chance: it must hardly move the center, or 10,000 steps are too few.
func TestSeedsAgree(t *testing.T) {
	p := slow()
	p.Fetch = Lognormal(1)
	for _, set := range []Setting{{Workers: 2}, {Workers: 8}, {Workers: 12, Prefetch: 4}} {
		var rates []float64
		for seed := range uint64(8) {
			one, _ := NewForecaster(p, Options{Seed: seed, Resamples: -1}).Point(set, Remedy{})
			rates = append(rates, one.Rate)
		}
		if lo, hi := slices.Min(rates), slices.Max(rates); hi/lo > 1.04 {
			t.Errorf("%d workers: rates from %g to %g/s over seeds", set.Workers, lo, hi)
		}
	}
}

func TestForecastInterval(t *testing.T) {
	tight, _ := NewForecaster(slow(), Options{}).Forecast(Setting{Workers: 2}, Remedy{})
	s := tight.StepsPerS
	// The workers limit, and their cost is known to 9 % or so: ±10 % of 0.7 s and ±10 % of 0.1 s at 95 %.
	if !(s.Lo < s.Center && s.Center < s.Hi) || s.Center != tight.Rate || s.Confidence != 0.9 || s.Lo < 0.9*s.Center ||
		s.Lo > 0.96*s.Center {
		t.Errorf("interval %+v", s)
	}
	wide := slow()
	wide.CPU = around(0.7, 0.3)
	loose, _ := NewForecaster(wide, Options{}).Forecast(Setting{Workers: 2}, Remedy{})
	own, _ := NewForecaster(slow(), Options{Calibration: Calibration{Model: 0.2, Source: "a test"}}).Forecast(
		Setting{Workers: 2}, Remedy{})
	for name, other := range map[string]stat.Summary{"a looser input": loose.StepsPerS,
		"an error of the model": own.StepsPerS} {
		if !(other.Lo < s.Lo && other.Hi > s.Hi) {
			t.Errorf("%s made %+v of %+v", name, other, s)
		}
	}
	if own.Rate != tight.Rate {
		t.Errorf("the model's error moved the center from %g to %g", tight.Rate, own.Rate)
	}
	none, _ := NewForecaster(slow(), Options{Resamples: -1}).Forecast(Setting{Workers: 2}, Remedy{})
	if none.StepsPerS.Confidence != 0 || none.StepsPerS.Lo != none.StepsPerS.Hi {
		t.Errorf("an interval without resampling: %+v", none.StepsPerS)
	}
}

// Where only the times themselves are known, their own sample gives the interval.
func TestIntervalFromMeasuredTimes(t *testing.T) {
	p := slow()
	p.CPU, p.Wait, p.FreeStep, p.TrainerCPU = stat.Exact(0.7), stat.Exact(0.1), stat.Exact(0.1), stat.Exact(0.02)
	width := func(n int) float64 {
		p.Fetch, _ = unit(exponential(4, n), n)
		one, _ := NewForecaster(p, Options{}).Forecast(Setting{Workers: 1}, Remedy{})
		return (one.StepsPerS.Hi - one.StepsPerS.Lo) / one.StepsPerS.Center
	}
	// The mean of n exponential times has a deviation of 1/√n, so the 90 % interval is 3.3/√n wide.
	if few, many := width(25), width(400); math.Abs(few/(3.3/5)-1) > 0.35 || math.Abs(many/(3.3/20)-1) > 0.35 {
		t.Errorf("intervals of 25 and 400 times are %g and %g wide, want about %g and %g", few, many, 3.3/5, 3.3/20)
	}
}

// What storage gives is reached, whichever way it is known, and not passed.
func TestStorageIsTheCeiling(t *testing.T) {
	for name, edit := range map[string]func(*Pipeline){
		"bytes per second":               func(*Pipeline) {},
		"bytes that were not waited for": func(p *Pipeline) { p.Wait = stat.Exact(0) },
	} {
		p := slow()
		p.FreeStep, p.CPU, p.Wait, p.Epoch, p.Fetch = stat.Exact(0.01), stat.Exact(0.01), stat.Exact(0.05), 0,
			Lognormal(0.5)
		p.Storage, p.FromStore = stat.Exact(1e8), stat.Exact(2e7)
		edit(&p)
		one, _ := NewForecaster(p, Options{Resamples: -1}).Point(Setting{Workers: 8, Prefetch: 4}, Remedy{})
		if math.Abs(one.Rate/5-1) > 0.01 || one.Limit != Storage {
			t.Errorf("%s: %g/s, limited by %q, want 5/s by storage", name, one.Rate, one.Limit)
		}
	}
}

// A long epoch is cut off and carried on; it must come to what the whole of it does.
func TestCutEpochIsTheWholeOne(t *testing.T) {
	p := slow()
	p.Epoch = 8000
	for _, set := range []Setting{{Workers: 4}, {Workers: 8, Persistent: true}, {Workers: 12, Unordered: true}, {}} {
		whole, _ := NewForecaster(p, Options{Steps: 8000, Resamples: -1}).Point(set, Remedy{})
		cut, _ := NewForecaster(p, Options{Steps: 2000, Resamples: -1}).Point(set, Remedy{})
		if math.Abs(cut.Rate/whole.Rate-1) > 0.02 || cut.Steps == whole.Steps {
			t.Errorf("%+v: %g/s from %d steps, %g/s from all %d", set, cut.Rate, cut.Steps, whole.Rate, whole.Steps)
		}
	}
}

func TestNothingKnownForecastsNothing(t *testing.T) {
	for name, p := range map[string]Pipeline{
		"nothing":        {},
		"the step alone": {Loader: Loader{FreeStep: stat.Exact(1)}},
		"the work alone": {Loader: Loader{CPU: stat.Exact(1)}},
	} {
		f := NewForecaster(p, Options{})
		if one, ok := f.Forecast(Setting{Workers: 2}, Remedy{}); ok {
			t.Errorf("%s: forecast %+v", name, one)
		}
		if plans, ok := f.Plans(true, nil); ok {
			t.Errorf("%s: planned %+v", name, plans)
		}
	}
}

// Whatever a file says, a forecast is a number or none.
func TestForecastOfNonsense(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, edit := range map[string]func(*Pipeline, float64){
		"step":      func(p *Pipeline, x float64) { p.FreeStep = stat.Exact(x) },
		"cpu":       func(p *Pipeline, x float64) { p.CPU = stat.Exact(x) },
		"wait":      func(p *Pipeline, x float64) { p.Wait = stat.Exact(x) },
		"trainer":   func(p *Pipeline, x float64) { p.TrainerCPU = stat.Exact(x) },
		"cores":     func(p *Pipeline, x float64) { p.CPUs, p.UsableCPUs = stat.Exact(x), x },
		"storage":   func(p *Pipeline, x float64) { p.Storage, p.FromStore = stat.Exact(x), stat.Exact(1) },
		"bytes":     func(p *Pipeline, x float64) { p.Storage, p.FromStore = stat.Exact(1e9), stat.Exact(x) },
		"share":     func(p *Pipeline, x float64) { p.StorageShare = x },
		"spin":      func(p *Pipeline, x float64) { p.Spin = x },
		"overheads": func(p *Pipeline, x float64) { p.Handover, p.Receive, p.Dispatch, p.Resume = x, x, x, x },
		"start":     func(p *Pipeline, x float64) { p.Start = StartCost{x, x, x} },
		"memory":    func(p *Pipeline, x float64) { p.BatchBytes, p.WorkerBytes, p.ShmFree, p.Available = x, x, x, x },
		"epoch":     func(p *Pipeline, x float64) { p.Epoch = int(max(min(x, 1e15), -1e15)) },
		"workers":   func(p *Pipeline, x float64) { p.Setting.Workers = int(max(min(x, 1e15), -1e15)) },
		"prefetch":  func(p *Pipeline, x float64) { p.Setting.Prefetch = int(max(min(x, 1e15), -1e15)) },
	} {
		for _, x := range []float64{nan, inf, -inf, -1, 0, 1e-300, 1e300} {
			p := slow()
			p.UsableCPUs = 3
			edit(&p, x)
			f := NewForecaster(p, Options{Resamples: 3, Steps: 100})
			one, ok := f.Forecast(p.Setting, Remedy{})
			if ok && !(one.StepsPerS.Lo >= 0 && one.StepsPerS.Lo <= one.Rate && one.Rate <= one.StepsPerS.Hi &&
				one.StepsPerS.Hi < inf) {
				t.Errorf("%s of %g: %+v", name, x, one.StepsPerS)
			}
			if plans, ok := f.Plans(true, nil); ok && len(plans.Plans) > 0 &&
				!(plans.Plans[0].After.Rate > plans.Now.Rate) {
				t.Errorf("%s of %g: a plan that gains %g", name, x, plans.Plans[0].After.Rate/plans.Now.Rate)
			}
		}
	}
}
