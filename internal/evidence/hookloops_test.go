package evidence

import (
	"math"
	"strconv"
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
	if h == nil || h.Loader.Line != 16 || len(h.Others) != 1 || h.Others[0].Line != 10 {
		t.Fatalf("told of %+v", h)
	}
	if math.Abs(e.Facts.OtherLoaders.LeastStep-0.02) > 1e-3 || math.Abs(e.Facts.OtherLoaders.CPUs-0.25) > 0.01 {
		t.Errorf("beside it: at least %v s a step, %v CPUs", e.Facts.OtherLoaders.LeastStep, e.Facts.OtherLoaders.CPUs)
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
	if h := e.Facts.Hook; h == nil || h.Loader.Line != 10 || e.Facts.OtherLoaders.LeastStep != 0 ||
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
	if h := e.Facts.Hook; h == nil || e.Facts.OtherLoaders.LeastStep != 0 || len(e.Warnings) != 0 {
		t.Errorf("%+v, warned %q", h, e.Warnings)
	}
}

// TestHookLoaderOfNoDataLoader: of a loader that is no DataLoader waits and steps are exact. That no workers of
// PyTorch's are seen does not say that the trainer loads by itself.
func TestHookLoaderOfNoDataLoader(t *testing.T) {
	l := launch(t, recording.Header{})
	l.r.Event(recording.EventLoader, l.loop(0), map[string]string{"class": "torchdata.nodes.loader.Loader",
		"file": "train.py", "line": "9"})
	l.begin(0, 0, 0)
	for range 20 {
		l.plain(0, 1, 0.03, 0.01)
	}
	e := l.evidence()
	if wait, ok := e.Get(metric.InputWait); !ok || math.Abs(wait.Center-0.75) > 0.02 {
		t.Errorf("waits %+v, %v", wait, ok)
	}
	for _, d := range []metric.Desc{metric.NumWorkers, metric.InWorkerless, metric.WorkerBusy} {
		if v, ok := e.Get(d); ok {
			t.Errorf("%s is %+v", d.Name, v)
		}
	}
	if !warned(e, "torchdata.nodes.loader.Loader, which is no DataLoader") {
		t.Errorf("warnings: %q", e.Warnings)
	}
}

// TestHookLoadersThatShareALoop: each epoch makes a loader of its own, of another length, with workers that would
// persist; the first three are loops of their own, the later ones share one.
func TestHookLoadersThatShareALoop(t *testing.T) {
	l := launch(t, recording.Header{})
	for i := range 10 {
		n := min(i, 3)
		if i <= 3 {
			items := strconv.Itoa(5000 + i)
			if n == 3 {
				items = ""
			}
			l.loader(n, 88, 2, "persistent_workers", "1", "items", items)
		}
		l.bear("100.1", 2, 0)
		l.grow(metric.HookLoaders, l.loop(n), 1)
		l.begin(n, 0.3, 2)
		l.step(n, true, 0.5, 0)
		l.plain(n, 2, 0.01, 0.04)
		l.end(n, 0.2)
		l.bury("100.1")
	}
	e := l.evidence()
	sound(t, e)
	want(t, e, map[metric.Desc]float64{metric.Restarts: 8, metric.EpochTime: 3, metric.RestartGap: 1})
	near(t, e, 1e-6, map[metric.Desc]float64{metric.InputWait: (10*1.0 + 20*0.2) / 30,
		metric.BatchesPerS: 41 * 10 / 30.0})
	if h := e.Facts.Hook; h == nil || !h.Loader.RecreatedEachEpoch || h.Loader.Made != 10 || h.Loader.Items != nil ||
		h.Loader.BatchSize == nil || len(h.Others) != 0 {
		t.Errorf("%+v", h)
	}
}

// TestHookSaysWhatItDidNotTell: what the hook or its receiver left out is said in the report.
func TestHookSaysWhatItDidNotTell(t *testing.T) {
	l := launch(t, afterFive)
	l.loader(0, 88, 2)
	l.r.Unseen("hook_*", "process/100.1", "of some loaders nothing is told", "")
	l.bear("100.1", 2, 50)
	l.begin(0, 0, 2)
	l.plain(0, 29.9, 0.03, 0.02)
	if w := l.evidence().Warnings; len(w) != 1 || !strings.Contains(w[0], "of some loaders nothing is told") {
		t.Errorf("warnings: %q", w)
	}
}

// TestHookCrew lets training's workers compute 80 % of the time and an evaluation's two persistent ones wait for work,
// but for a tenth of the watch in which they compute and training's wait: shares, costs and memory are of training's,
// once the hook reports whose workers they are.
func TestHookCrew(t *testing.T) {
	for _, reported := range []bool{true, false} {
		l := launch(t, recording.Header{})
		l.loader(0, 88, 2, "persistent_workers", "1")
		l.loader(1, 95, 2, "persistent_workers", "1", "dataset", "train.Held")
		train := l.bear("100.1", 2, 50)
		held := l.bear("100.1", 2, 50)
		if reported {
			for n, workers := range [][]string{train, held} {
				for _, w := range workers {
					l.r.Event(recording.EventHook, "process/"+w, map[string]string{"state": "worker",
						"loop": l.loop(n)})
				}
			}
		}
		// The simulation moves one worker set; the others stand by beside it.
		l.workers["100.1"] = train
		work, rest := moment{wait: 0.2, asleep: 0.8, idle: 0.2, work: 0.8, rss: 500 << 20, gpu: -1},
			moment{idle: 1, rss: 100 << 20}
		l.samples = work
		others := rest
		aside := held
		l.also = func() {
			for _, w := range aside {
				l.worker("process/"+w, l.tick, l.simulation.samples, others)
			}
		}
		l.begin(0, 0, 0)
		for range 9 {
			l.plain(0, 2.65, 0.01, 0.04)
			l.step(0, true, 0.01, 0.04, func() {
				l.workers["100.1"], aside, l.samples, others = held, train, moment{wait: 0.25, asleep: 0.75, work: 1,
					rss: 100 << 20, gpu: -1}, moment{idle: 1, rss: 500 << 20}
				l.over(1, false, 3, 0.025, 0.075)
				l.workers["100.1"], aside, l.samples, others = train, held, work, rest
			})
		}
		e := l.evidence()
		if got, ok := e.Get(metric.NumWorkers); !ok || got.Center != 2 {
			t.Errorf("told %v: %v workers", reported, got.Center)
		}
		busy, _ := e.Get(metric.WorkerBusy)
		private, _ := e.Get(metric.WorkerRSS)
		_, joint := e.Get(metric.IdleWhileWaits)
		_, blocked := e.Get(metric.HeadOfLine)
		if good := busy.Center > 0.76 && busy.Center < 0.81 && private.Center == 500<<20 && !joint &&
			!blocked; good != reported {
			t.Errorf("told %v: workers are busy %.2f of the time, with %g bytes; paired samples %v %v", reported,
				busy.Center, private.Center, joint, blocked)
		}
	}
}
