package diagnose

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
)

// ranged is a loader whose step lies somewhere between two times.
func ranged(t *testing.T, signals readings, lo, center, hi float64) *Loader {
	t.Helper()
	l := modelOf(t, evidence.Facts{}, signals)
	l.FreeStep, l.StepRange, l.noWait = stat.Summary{Center: center, Lo: lo, Hi: hi, N: 20}, true, 1/lo
	if !l.simulate() || !l.fits() {
		t.Fatalf("the model makes %+v of %g/s", l.present.StepsPerS, l.Now.Center)
	}
	return l
}

// Of a step that lies in a range the upper end of an effect holds the shortest one, the lower end the longest, and the
// likely figure what is likely; nothing is promised above what the shortest allows.
func TestEffectOfAStepInARange(t *testing.T) {
	l := ranged(t, starvingLoader, 0.02, 0.03, 0.06)
	e := l.WithWorkers(8)
	if math.Abs(e.Lo*0.06-1) > 0.08 || math.Abs(e.After*0.03-1) > 0.08 || e.Hi > 1/0.02+1e-9 || e.Hi < 0.9/0.02 {
		t.Errorf("eight workers: %+v, want about 33 (17 to 50)", e)
	}
}

// Where the step may be the limit already, the model's rate with a shorter one is no promise for a change that leaves
// the step as it is.
func TestAStepInARangePromisesNothingByItself(t *testing.T) {
	l := ranged(t, with(starvingLoader, readings{"free_step_time_s": 0.1, "batches_per_s": 9.8,
		"worker_busy_ratio": 0.2, "num_workers": 5}), 0.05, 0.07, 0.102)
	if e := l.WithWorkers(8); e.Worthwhile() || e.Hi > 1.05*e.Before {
		t.Errorf("three workers more of five that are mostly idle: %+v", e)
	}
}

// Windows count batches that come in bursts unevenly, which passes for batches that vary. As many as were seen could
// not be made of batches that vary so much: the assumption gives way, not the plan.
func TestAssumedVariationAllowsTheRateThatWasSeen(t *testing.T) {
	l := modelOf(t, evidence.Facts{}, with(starvingLoader, readings{"num_workers": 4, "batches_per_s": 13.9,
		"free_step_time_s": 0.022, "worker_cpu_per_batch_s": 0.004, "worker_wait_per_batch_s": 0.283}))
	l.vary(1)
	if l.simulate(); l.fits() || !l.slower() {
		t.Fatalf("batches that vary as much as their mean fit: %+v", l.present.StepsPerS)
	}
	if !l.settle() || !l.fits() || l.variation > 0.5 {
		t.Errorf("they still vary by %v: %+v of %g/s", l.variation, l.present.StepsPerS, l.Now.Center)
	}
}

// A model that makes 20 batches a second where 10 were seen misses 50 ms of each: with another setting that makes 40,
// these may stay (75 ms, 13.3 a second), take their part again (20) or be gone (40). One that makes 5 counts what may
// not be there.
func TestWhatTheModelMissesIsInThePromise(t *testing.T) {
	for _, c := range []struct{ makes, to, lo, hi, wantLo, wantHi float64 }{
		{20, 40, 19, 21, 1 / 0.075, 41},
		{5, 15, 29, 31, 14, 31},
	} {
		l := &Loader{PerBatch: 2, Now: stat.Exact(20)}
		l.present.Rate = c.makes
		to := predict.Forecast{StepsPerS: stat.Summary{Center: c.to, Lo: c.to - 1, Hi: c.to + 1}}
		to.Rate = c.to
		lo, hi := l.around(to, 2*c.lo, 2*c.hi)
		if math.Abs(lo-2*c.wantLo) > 1e-9 || math.Abs(hi-2*c.wantHi) > 1e-9 {
			t.Errorf("of %v made and 10 seen: %v to %v a second, want %v to %v", c.makes, lo/2, hi/2, c.wantLo,
				c.wantHi)
		}
	}
}
