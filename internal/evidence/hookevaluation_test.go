package evidence

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence/hooked"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestHookEvaluationWithGradients: a loop in order, in turns with one at random, evaluates though nobody said no_grad,
// and however long it takes.
func TestHookEvaluationWithGradients(t *testing.T) {
	for sampler, evaluates := range map[string]bool{hooked.InSequence: true, hooked.AtRandom: false} {
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
		l := trainAndHold(t, 2, "sampler", hooked.InSequence)
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

// TestHookPauses lets 4 s of training alternate with an evaluation of 2 s, in one piece or of two loaders, after an
// epoch or in the middle of one. The trainer computes a quarter of the time in training and three quarters in
// evaluations, which wait while their loader begins and ends, too.
func TestHookPauses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		nested bool
		loops  int
		cut    float64 // seconds of the last evaluation that the watch does not see
	}{{"between epochs", false, 1, 0}, {"in the middle", true, 1, 0}, {"two in a row", true, 2, 0},
		{"the last not to its end", true, 1, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			l := trainAndHold(t, 2)
			l.loader(2, 96, 0, "dataset", "train.Test")
			training, evaluation := moment{run: 0.25, asleep: 0.75, gpu: -1}, moment{run: 0.75, asleep: 0.25, gpu: -1}
			l.samples = training
			waited := 0.0
			evaluate := func(cut float64) func() {
				return func() {
					l.samples = evaluation
					for n := range tt.loops {
						steps := int((2-cut)/0.1/float64(tt.loops)+0.5) - 1
						l.begin(1+n, 0.1, 0)
						if cut == 0 {
							steps--
						}
						for range steps {
							l.step(1+n, false, 0.025, 0.075)
						}
						waited += 0.1 + 0.025*float64(steps)
						if cut == 0 {
							l.end(1+n, 0.1)
							waited += 0.1
						}
					}
					l.samples = training
				}
			}
			l.begin(0, 0, 0)
			const times = 6
			for i := range times {
				cut := 0.0
				if i == times-1 {
					cut = tt.cut
				}
				l.plain(0, 3.95, 0.01, 0.04)
				if tt.nested {
					l.step(0, true, 0.01, 0.04, evaluate(cut))
					continue
				}
				l.step(0, true, 0.01, 0.04)
				l.end(0, 0)
				evaluate(cut)()
				l.begin(0, 0, 0)
			}
			l.end(0, 0)
			e := l.evidence()
			sound(t, e)
			part := (times*2 - tt.cut) / (times*6 - tt.cut)
			want(t, e, map[metric.Desc]float64{metric.InputWait: 0.2, metric.BatchesPerS: 20, metric.StepTime: 0.05,
				metric.FreeStepTime: 0.04, metric.Restarts: 0, metric.Evaluation: part,
				metric.EvalWait: waited / (times*6 - tt.cut)})
			h := e.Facts.Hook
			if h == nil || len(h.Others) != tt.loops || h.Loader.Evaluates || h.Loader.Line != 88 {
				t.Fatalf("%+v", h)
			}
			for _, other := range h.Others {
				if !other.Evaluates || other.Line < 95 || other.Line > 94+tt.loops {
					t.Errorf("beside training: %+v", other)
				}
			}
			if math.Abs(h.Evaluating.Time-part) > 0.01 || math.Abs(h.Evaluating.CPU-part*0.75) > 0.02 ||
				h.Evaluating.Delay != 0 {
				t.Errorf("evaluations take %+v, want %g of the time", h.Evaluating, part)
			}
			pauses := hooked.Pauses{}
			if tt.nested {
				pauses = hooked.Pauses{Every: 80, Length: 2, CPU: 1.5}
			}
			if p := h.Pauses; math.Abs(p.Every-pauses.Every) > 0.1*pauses.Every ||
				math.Abs(p.Length-pauses.Length) > 0.02 || math.Abs(p.CPU-pauses.CPU) > 0.1 {
				t.Errorf("pauses %+v, want %+v", p, pauses)
			}
		})
	}
}

// TestHookPausesWithWorkers: what the workers of an evaluation compute is of its pause as well.
func TestHookPausesWithWorkers(t *testing.T) {
	l := launch(t, recording.Header{})
	l.loader(0, 88, 2, "persistent_workers", "1")
	l.loader(1, 95, 2, "dataset", "train.Held")
	l.bear("100.1", 2, 50)
	l.samples = moment{run: 0.25, asleep: 0.75, gpu: -1}
	l.begin(0, 0, 0)
	for range 6 {
		l.plain(0, 3.95, 0.01, 0.04)
		l.step(0, true, 0.01, 0.04, func() {
			l.begin(1, 0, 2)
			for range 20 {
				l.make(1, 1)
				l.step(1, false, 0.025, 0.075)
			}
			l.end(1, 0)
		})
	}
	p := l.evidence().Facts.Hook.Pauses
	if want := (hooked.Pauses{Every: 80, Length: 2, CPU: 2*0.25 + 20*0.050}); math.Abs(p.Every-want.Every) > 2 ||
		math.Abs(p.Length-want.Length) > 0.02 || math.Abs(p.CPU-want.CPU) > 0.1 {
		t.Errorf("pauses %+v, want %+v", p, want)
	}
}

// alternating is a job that evaluates on the CPU for twice as long as it trains on its GPU before, time and again.
func alternating(t *testing.T, trains float64) *Evidence {
	t.Helper()
	l := trainAndHold(t, 0)
	training := moment{run: 0.1, asleep: 0.9, gpu: 0.8}
	turn := func(to moment) {
		l.ticks(l.now + 1e-6) // the reading at its end is of what went before
		l.samples = to
	}
	for at := 0.0; at < 36; at += 3 * trains {
		turn(training)
		l.begin(0, 0, 0)
		l.plain(0, trains, 0.005, 0.045)
		l.end(0, 0)
		turn(moment{run: 0.95, asleep: 0.05, gpu: 0.05})
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
