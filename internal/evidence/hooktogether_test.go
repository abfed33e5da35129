package evidence

import (
	"math"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// both takes a batch of each of two loaders in each step, with waits of their own.
func (l *launched) both(steps int, waits [2]float64, work float64) {
	for range steps {
		l.pass(waits[0] + waits[1] + work)
		for n, wait := range waits {
			l.make(n, 0.25*float64(1+n)) // 20 and 40 ms of their worker
			e := l.loop(n)
			l.grow(metric.HookSteps, e, 1)
			l.grow(metric.HookGradSteps, e, 1)
			l.grow(metric.HookWait, e, wait)
			l.grow(metric.HookStepTime, e, waits[0]+waits[1]+work)
		}
		l.send()
	}
}

// TestHookTellsTheLoaderThatIsWaitedFor: of two loaders of each step the one that training waits for is reported,
// whichever was made first.
func TestHookTellsTheLoaderThatIsWaitedFor(t *testing.T) {
	l := launch(t, recording.Header{})
	l.loader(0, 10, 1)
	l.loader(1, 16, 1, "dataset", "train.Slow")
	l.bear("100.1", 2, 50)
	l.samples = inputBound
	l.begin(0, 0, 1)
	l.begin(1, 0, 1)
	l.both(600, [2]float64{0.005, 0.025}, 0.02)
	e := l.evidence()
	sound(t, e)
	near(t, e, 1e-3, map[metric.Desc]float64{metric.InputWait: 0.6, metric.BatchesPerS: 20, metric.FreeStepTime: 0.02,
		metric.NumWorkers: 1, metric.WorkerBusy: 0.8, metric.WorkerIdle: 0.2, metric.WorkerCPUBatch: 0.05,
		metric.WorkerRunning: 0.5})
	want(t, e, map[metric.Desc]float64{metric.HeadOfLine: absent, metric.WorkerStorage: absent,
		metric.IdleWhileWaits: absent})
	h := e.Facts.Hook
	if h == nil || h.Loader.Line != 16 || len(h.Others) != 1 || h.Others[0].Line != 10 ||
		math.Abs(h.Others[0].Wait-3) > 0.1 || math.Abs(h.Loader.Wait-15) > 0.1 {
		t.Fatalf("told of %+v", h)
	}
	if h.Together != 2 || math.Abs(h.LeastStep-0.02) > 1e-3 || math.Abs(h.OtherLoaderCPUs-0.25) > 0.01 {
		t.Errorf("beside it: %d loaders, at least %v s a step, %v CPUs", h.Together, h.LeastStep, h.OtherLoaderCPUs)
	}
	if len(e.Warnings) != 1 || !strings.HasPrefix(e.Warnings[0], "2 loaders are gone over in each step; 83 % of the "+
		"wait is for the one made at train.py:16") {
		t.Errorf("warned %q", e.Warnings)
	}
}

// TestHookLoadersInTurnAreNotTogether: two loaders that train one after the other are no loaders of the same step.
func TestHookLoadersInTurnAreNotTogether(t *testing.T) {
	l := launch(t, recording.Header{})
	l.loader(0, 10, 1)
	l.loader(1, 16, 1, "dataset", "train.Slow")
	l.bear("100.1", 2, 50)
	for range 3 {
		l.begin(0, 0, 1)
		l.plain(0, 6, 0.01, 0.04)
		l.end(0, 0)
		l.begin(1, 0, 1)
		l.plain(1, 4, 0.03, 0.02)
		l.end(1, 0)
	}
	e := l.evidence()
	if h := e.Facts.Hook; h == nil || h.Loader.Line != 10 || h.Together != 1 || h.LeastStep != 0 ||
		len(e.Warnings) != 0 {
		t.Errorf("told of %+v, warned %q", h, e.Warnings)
	}
}

// TestHookTellsUnseenWorkers: of workers that the watch did not find, as those of a trainer that began late, the hook
// says how busy they are.
func TestHookTellsUnseenWorkers(t *testing.T) {
	l := launch(t, afterFive)
	l.loader(0, 88, 2)
	l.begin(0, 0.1, 2)
	l.plain(0, 29.9, 0.03, 0.02) // 20 batches per second of 80 ms, 50 of them on a CPU: 1.6 and 1.0 of 2 workers
	e := l.evidence()
	sound(t, e)
	near(t, e, 1e-3, map[metric.Desc]float64{metric.NumWorkers: 2, metric.WorkerBusy: 0.8, metric.WorkerIdle: 0.2,
		metric.WorkerRunning: 0.5, metric.WorkerCPU: 0.5, metric.WorkerCPUBatch: 0.05})
	if h := e.Facts.Hook; h == nil || h.Together != 1 || len(e.Warnings) != 0 {
		t.Errorf("%+v, warned %q", h, e.Warnings)
	}
}
