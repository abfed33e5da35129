package evidence

import (
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
)

// TestHookEvaluation lets 4 s of training alternate with 2 s of evaluation, after an epoch or in the middle of one.
func TestHookEvaluation(t *testing.T) {
	for _, nested := range []bool{false, true} {
		l := trainAndHold(t, 2)
		evaluate := func() {
			l.begin(1, 0.1, 0)
			for range 18 {
				l.step(1, false, 0.025, 0.075)
			}
			l.end(1, 0.1)
		}
		l.begin(0, 0, 0)
		for range 5 {
			l.plain(0, 3.95, 0.01, 0.04)
			if nested {
				l.step(0, true, 0.01, 0.04, evaluate)
				continue
			}
			l.step(0, true, 0.01, 0.04)
			l.end(0, 0)
			evaluate()
			l.begin(0, 0, 0)
		}
		l.end(0, 0)
		e := l.evidence()
		sound(t, e)
		want(t, e, map[metric.Desc]float64{metric.InputWait: 0.2, metric.BatchesPerS: 20, metric.StepTime: 0.05,
			metric.FreeStepTime: 0.04, metric.Restarts: 0})
		near(t, e, 1e-6, map[metric.Desc]float64{metric.Evaluation: 10.0 / 30, metric.EvalWait: 5 * (0.2 +
			18*0.025) / 30})
		h := e.Facts.Hook
		if h == nil || len(h.Others) != 1 || !h.Others[0].Evaluates || h.Others[0].Line != 95 || h.Loader.Evaluates ||
			h.Loader.Line != 88 {
			t.Errorf("nested %v: %+v", nested, h)
		}
	}
}

// TestHookEvaluationWithGradients: a loop in order, in turns with one at random, evaluates though nobody said no_grad,
// and however long it takes.
func TestHookEvaluationWithGradients(t *testing.T) {
	for sampler, evaluates := range map[string]bool{InSequence: true, AtRandom: false} {
		l := trainAndHold(t, 2, "sampler", sampler)
		for range 5 {
			l.begin(0, 0, 0)
			l.plain(0, 2, 0.01, 0.04)
			l.end(0, 0)
			l.begin(1, 0, 0)
			l.plain(1, 4, 0.02, 0.02)
			l.end(1, 0)
		}
		e := l.evidence()
		sound(t, e)
		h := e.Facts.Hook
		if h == nil || len(h.Others) != 1 || h.Others[0].Evaluates != evaluates || evaluates != (h.Loader.Line == 88) {
			t.Fatalf("%s: %+v", sampler, h)
		}
		if evaluates {
			near(t, e, 0.02, map[metric.Desc]float64{metric.Evaluation: 4. / 6, metric.BatchesPerS: 20})
		}
	}
}

// TestHookEvaluationBetweenSteps: epochs in order within few steps of a loop at random are evaluations, though nobody
// said no_grad; such epochs within each step are part of it.
func TestHookEvaluationBetweenSteps(t *testing.T) {
	for every, evaluates := range map[int]bool{40: true, 1: false} {
		l := trainAndHold(t, 2, "sampler", InSequence)
		l.begin(0, 0, 0)
		for l.now < 30 {
			if every > 1 {
				l.plain(0, 0.05*float64(every-1), 0.01, 0.04)
			}
			l.step(0, true, 0.01, 0.04, func() {
				l.begin(1, 0.05, 0)
				for range 10 {
					l.step(1, true, 0.01, 0.01)
				}
				l.end(1, 0)
			})
		}
		l.end(0, 0)
		e := l.evidence()
		sound(t, e)
		if h := e.Facts.Hook; h == nil || len(h.Others) != 1 || h.Others[0].Evaluates != evaluates ||
			evaluates && h.Loader.Line != 88 {
			t.Fatalf("every %d: %+v", every, h)
		}
		if evaluates {
			near(t, e, 0.02, map[metric.Desc]float64{metric.Evaluation: 0.25 / 2.25, metric.InputWait: 0.2,
				metric.BatchesPerS: 20})
		}
	}
}
