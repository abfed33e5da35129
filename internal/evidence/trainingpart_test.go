package evidence

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
)

// alternating is a job that evaluates on the CPU for twice as long as it trains on its GPU before, time and again.
func alternating(t *testing.T, trains float64) *Evidence {
	t.Helper()
	l := trainAndHold(t, 0)
	training := moment{run: 0.1, asleep: 0.9, gpu: 0.8}
	for at := 0.0; at < 36; at += 3 * trains {
		l.samples = training
		l.begin(0, 0, 0)
		l.plain(0, trains, 0.005, 0.045)
		l.end(0, 0)
		l.samples = moment{run: 0.95, asleep: 0.05, gpu: 0.05}
		l.over(1, false, int(2*trains/0.1+0.5), 0, 0.1)
	}
	e := l.evidence()
	sound(t, e)
	return e
}

// TestStepHasNoEvaluation: where a step of training goes is told without the evaluations that share its time, and how
// busy the GPU is of all time.
func TestStepHasNoEvaluation(t *testing.T) {
	e := alternating(t, 2)
	near(t, e, 0.05, map[metric.Desc]float64{metric.DeviceTime: 0.8, metric.HostTime: 0.1, metric.Evaluation: 2. / 3,
		metric.GPUBusy: 0.3})
	if v, _ := e.Get(metric.DeviceTime); v.Lo < 0.7 {
		t.Errorf("the device works %+v of a step", v)
	}
	if h := e.Facts.Hook; h == nil || h.Evaluating.Mixed {
		t.Errorf("%+v", h)
	}
}

// TestStepsBetweenShortEvaluations: windows that hold as much of evaluations each tell no more than bounds.
func TestStepsBetweenShortEvaluations(t *testing.T) {
	e := alternating(t, 0.1)
	if h := e.Facts.Hook; h == nil || !h.Evaluating.Mixed {
		t.Fatalf("%+v", h)
	}
	v, ok := e.Get(metric.DeviceTime)
	if most := 0.3 * 3; !ok || v.Lo > 0.05 || math.Abs(v.Center-0.3) > 0.05 || math.Abs(v.Hi-most) > 0.1 {
		t.Errorf("the device works %+v of a step", v)
	}
}
