package evidence

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

func TestHookTellsOneLoop(t *testing.T) {
	l := launch(t, afterFive)
	l.loader(0, 88, 2)
	l.r.Event(recording.EventSite, "site/100.1.0/0", map[string]string{"kind": "open", "what": "train.h5",
		"file": "data.py", "line": "12", "function": "__getitem__"})
	l.r.Event(recording.EventSlowItem, "loop/100.1.0", map[string]string{"index": "7", "seconds": "0.5", "times": "2"})
	l.r.Event(recording.EventSlowItem, "loop/100.1.0", map[string]string{"index": "9", "seconds": "0.7", "times": "1"})
	l.bear("100.1", 2, 50)
	l.samples = inputBound
	l.begin(0, 0.1, 2)
	l.grow(metric.HookBatchSize, l.loop(0), 5<<20)
	l.plain(0, 29.9, 0.03, 0.02)
	e := l.evidence()
	sound(t, e)
	want(t, e, map[metric.Desc]float64{
		metric.InputWait: 0.6, metric.BatchesPerS: 20, metric.StepTime: 0.05, metric.FreeStepTime: 0.02,
		metric.SamplesPerS: 640, metric.NumWorkers: 2, metric.BatchBytes: 5 << 20, metric.Evaluation: 0,
		metric.EvalWait: 0, metric.HostTime: 0.1, metric.DeviceTime: 0.3, metric.MadeItem: 0.0025,
		metric.MadeOpen: 0.0005, metric.MadeRead: 0.001, metric.MadeDecode: 0, metric.DecodedTimes: 2,
		metric.MadeCollate: 0.00025, metric.MadeOther: 0.00075, metric.MadePerS: 640, metric.MadeReads: 1,
		metric.FetchTime: 0.080,
		metric.FetchCPU:  0.050, metric.CollateRatio: 0.1, metric.WorkerCPUBatch: 0.05, metric.WorkerWaitBatch: 0.03,
		metric.FetchP99: math.Pow(10, (101+0.8)/20) * 1e-6, metric.OpensPerBatch: 32, metric.HDF5Opens: 640,
		metric.DistinctOpens: 1.0 / (640 * 25), metric.Restarts: 0, metric.EpochGap: 0, metric.RestartGap: absent,
		metric.InWorkerless: absent, metric.SyncRatio: absent, metric.Starved: absent,
	})
	if v, _ := e.Get(metric.InputWait); v.Basis != metric.Measured || v.N < 20 {
		t.Errorf("input wait %+v", v)
	}
	h := e.Facts.Hook
	if h == nil || h.Torch != "2.6.0" || h.Python != "3.13.5" || h.Loader.File != "train.py" || h.Loader.Line != 88 ||
		math.Abs(h.Steps-500) > 1e-6 || len(h.Others) != 0 {
		t.Fatalf("facts %+v", h)
	}
	if len(h.Opens) != 1 || h.Opens[0].Line != 12 || math.Abs(h.Opens[0].Calls-16000) > 1e-6 || len(h.Slow) != 2 ||
		h.Slow[0].Index != 9 || h.Slow[1].Times != 2 {
		t.Errorf("opens %+v, slow %+v", h.Opens, h.Slow)
	}
	f := e.Facts
	if *f.Prefetch != 4 || *f.Persistent || *f.PinMemory || f.StartMethod != "fork" || *f.BatchSize != 32 {
		t.Errorf("settings %+v", f)
	}
	if len(e.Warnings) != 0 {
		t.Errorf("an ordinary launch warned: %q", e.Warnings)
	}
}

// TestHookLongWait lets a wait of 6 s come twice in the window: it is reported at its end and belongs to the time
// before.
func TestHookLongWait(t *testing.T) {
	l := launchTwo(t, afterFive)
	l.begin(0, 0, 2)
	l.plain(0, 10, 0.01, 0.04)
	l.step(0, true, 6, 0)
	l.plain(0, 6, 0.01, 0.04)
	l.step(0, true, 6, 0)
	l.plain(0, 2, 0.01, 0.04)
	l.ticks(l.now + 1e-6)
	e := l.derive(l.recording("job-ended"))
	near(t, e, 1e-6, map[metric.Desc]float64{metric.InputWait: (12 + 13*0.2) / 25, metric.BatchesPerS: (13*20 +
		2) / 25.0})
	if len(e.Warnings) != 0 {
		t.Errorf("a launched job is watched to its end: %q", e.Warnings)
	}
}

// TestHookSlowSteps: steps of 10 s leave a tail that is not reported.
func TestHookSlowSteps(t *testing.T) {
	l := launchTwo(t, afterFive)
	l.begin(0, 0, 2)
	for range 3 {
		l.step(0, true, 4, 6)
	}
	l.pass(8)
	e := l.evidence()
	near(t, e, 1e-6, map[metric.Desc]float64{metric.InputWait: 0.4, metric.BatchesPerS: 0.1, metric.FreeStepTime: 6})
	if e.Facts.Hook == nil {
		t.Error("the hook was not used")
	}
}

// TestHookRestarts lets each epoch of 6 s begin with 0.3 s of starting workers and 0.5 s of waiting for them, and end
// with 0.2 s of ending them.
func TestHookRestarts(t *testing.T) {
	for _, recreated := range []bool{false, true} {
		l := launch(t, recording.Header{})
		for i := range 5 {
			n := 0
			if recreated {
				n = i
			}
			if recreated || i == 0 {
				l.loader(n, 88, 2)
			}
			l.bear("100.1", 2, 0)
			l.begin(n, 0.3, 2)
			l.step(n, true, 0.5, 0)
			l.plain(n, 5, 0.01, 0.04)
			l.end(n, 0.2)
			l.bury("100.1")
		}
		e := l.evidence()
		sound(t, e)
		// Of five epochs the first starts no workers anew.
		want(t, e, map[metric.Desc]float64{metric.Restarts: 3, metric.EpochTime: 6, metric.RestartGap: 1})
		near(t, e, 1e-6, map[metric.Desc]float64{metric.InputWait: (1.0 + 5*0.2) / 6, metric.EpochGap: 1.0 / 6,
			metric.BatchesPerS: 101 / 6.0})
		if h := e.Facts.Hook; h == nil || h.Loader.RecreatedEachEpoch != recreated || recreated &&
			h.Loader.Made != 5 || len(h.Others) != 0 ||
			math.Abs(h.Epochs-3) > 1e-6 || e.Facts.Persistent == nil || *e.Facts.Persistent {
			t.Errorf("made anew %v: %+v", recreated, h)
		}
	}
}

// TestHookZip goes over two loaders at once; the second one's wait lies within the steps of the first.
func TestHookZip(t *testing.T) {
	l := launch(t, recording.Header{})
	l.loader(0, 88, 1)
	l.loader(1, 88, 1) // made by the same line
	l.bear("100.1", 2, 50)
	l.begin(0, 0, 1)
	l.begin(1, 0, 1)
	l.both(600, [2]float64{0.01, 0.02}, 0.02)
	e := l.evidence()
	sound(t, e)
	near(t, e, 1e-6, map[metric.Desc]float64{metric.InputWait: 0.6, metric.BatchesPerS: 20, metric.FreeStepTime: 0.02})
	want(t, e, map[metric.Desc]float64{metric.Evaluation: 0})
	if h := e.Facts.Hook; h == nil || len(h.Others) != 1 || h.Others[0].Evaluates {
		t.Errorf("%+v", h)
	}
}

// TestHookWithoutWorkers: what is only bounded from outside is exact.
func TestHookWithoutWorkers(t *testing.T) {
	l := launch(t, afterFive)
	l.loader(0, 88, 0)
	l.samples = moment{run: 0.7, asleep: 0.3, gpu: -1, trainerReads: 1 << 20}
	l.begin(0, 0.1, 0)
	for range 299 {
		l.make(0, 0.5) // 40 ms, 25 of them on a CPU
		l.step(0, true, 0.04, 0.06)
	}
	e := l.evidence()
	sound(t, e)
	want(t, e, map[metric.Desc]float64{metric.NumWorkers: 0, metric.InputWait: 0.4, metric.InWorkerless: 0.4,
		metric.BatchesPerS: 10, metric.FreeStepTime: 0.06, metric.WorkerIdle: absent, metric.Restarts: absent,
		metric.EpochGap: absent,
		// Of the 0.7 that it runs 0.25 is loading; of the 0.3 that it sleeps 0.15 is.
		metric.HostTime: 0.45, metric.DeviceTime: 0.15})
	near(t, e, 1e-6, map[metric.Desc]float64{metric.FetchCPU: 0.050, metric.WorkerWaitBatch: 0.030})
	if e.Facts.Prefetch != nil || e.Facts.Persistent != nil || e.Facts.StartMethod != "" {
		t.Errorf("settings of workers without workers: %+v", e.Facts)
	}
}

func TestHookRanks(t *testing.T) {
	l := launch(t, afterFive)
	l.trainer("200.1")
	other := join(l.simulation, "200.1")
	l.others = []*launched{other}
	l.bear("100.1", 2, 50)
	l.bear("200.1", 2, 50)
	l.loader(0, 88, 2)
	other.loader(0, 88, 2)
	l.begin(0, 0, 2)
	other.now = l.now
	other.grow(metric.HookSteps, other.loop(0), 0)
	for range 600 {
		l.step(0, true, 0.01, 0.04)
		other.now = l.now
		for d, by := range map[metric.Desc]float64{metric.HookSteps: 1, metric.HookGradSteps: 1, metric.HookWait: 0.025,
			metric.HookStepTime: 0.05} {
			other.grow(d, other.loop(0), by)
		}
		other.send()
	}
	e := l.evidence()
	sound(t, e)
	want(t, e, map[metric.Desc]float64{metric.InputWait: 0.5, metric.BatchesPerS: 20, metric.Ranks: 2})
	if len(e.Ranks) != 2 || e.Ranks[0].PID != 200 || math.Abs(e.Ranks[1].InputWait.Center-0.2) > 1e-6 {
		t.Errorf("ranks %+v", e.Ranks)
	}
}

func TestHookDevice(t *testing.T) {
	l := launchTwo(t, afterFive)
	l.samples = moment{wait: 0.4, run: 0.6, gpu: -1, batches: 20}
	l.begin(0, 0, 2)
	for i := range 600 {
		l.times(i, 0)
		l.grow(metric.HookSyncs, l.loop(0), 2)
		l.grow(metric.HookSyncTime, l.loop(0), 0.005)
		l.step(0, true, 0.02, 0.03)
	}
	e := l.evidence()
	near(t, e, 1e-6, map[metric.Desc]float64{metric.InputWait: 0.4, metric.Starved: 15.0 / 40,
		metric.DataStall: 15.0 / 40, metric.FreeStepTime: 0.05 * 25 / 40, metric.SyncRatio: 0.1,
		metric.SyncsPerStep: 2})
	want(t, e, map[metric.Desc]float64{metric.DeviceTime: absent})
}

// times has each tenth step timed, of 25 ms and 15 in which the device lacks the next batch, for which the trainer
// waits so long; 0: which the hook does not tell.
func (l *launched) times(step int, waited float64) {
	if step%10 != 0 {
		return
	}
	l.grow(metric.HookDeviceSteps, l.loop(0), 1)
	l.grow(metric.HookDeviceTime, l.loop(0), 0.025)
	l.grow(metric.HookDeviceStarved, l.loop(0), 0.015)
	if waited > 0 {
		l.grow(metric.HookDeviceWaited, l.loop(0), waited)
	}
}

// TestHookDeviceWaited: of each wait of 20 ms, 5 lie behind queued work, and of those between epochs as well.
func TestHookDeviceWaited(t *testing.T) {
	l := launchTwo(t, afterFive)
	l.samples = moment{wait: 0.4, run: 0.6, gpu: -1, batches: 20}
	for range 10 {
		l.begin(0, 0, 0)
		for i := range 60 {
			l.times(i, 0.02)
			l.step(0, true, 0.02, 0.03)
		}
		l.end(0, 1)
	}
	near(t, l.evidence(), 0.02, map[metric.Desc]float64{metric.InputWait: 2.2 / 4, metric.DataStall: (2.2 - 0.3) / 4})
}

func TestHookLostHalfWay(t *testing.T) {
	l := launchTwo(t, afterFive)
	l.samples = inputBound
	l.begin(0, 0, 2)
	l.plain(0, 15, 0.01, 0.04)
	l.off = true
	l.plain(0, 15, 0.01, 0.04)
	e := l.evidence()
	want(t, e, map[metric.Desc]float64{metric.InputWait: 0.6, metric.MadeItem: absent})
	if e.Facts.Hook != nil || len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "only 10.0 s of the 25.0 s") {
		t.Errorf("hook %+v, warnings %q", e.Facts.Hook, e.Warnings)
	}
}

func TestHookAbsent(t *testing.T) {
	for state, says := range map[string]string{"absent": "the hook did not load: python was started with -I; figures " +
		"are from outside, as in attach mode",
		"silent": "the hook reported nothing: python was started with -I; figures are from outside, as in attach mode",
		"off": "the hook switched itself off: python was started with -I; figures are from outside, as in attach " +
			"mode"} {
		s := twoWorkers(t, afterFive)
		s.r.Event(recording.EventHook, "process/100.1", map[string]string{"state": state,
			"reason": "python was started with -I"})
		s.run(30, inputBound)
		e := s.evidence()
		want(t, e, map[metric.Desc]float64{metric.InputWait: 0.6, metric.BatchesPerS: 20})
		if len(e.Warnings) != 1 || e.Warnings[0] != says {
			t.Errorf("%s: %q", state, e.Warnings)
		}
	}
}

// TestNoLoaderWasMade: a trainer whose GPU idles while it runs and reads nothing may load from memory, half of what it
// runs; not where the hook saw that no DataLoader was made.
func TestNoLoaderWasMade(t *testing.T) {
	for none, loads := range map[bool]float64{false: 0.2, true: 0} {
		s := withWorkers(t, 0, afterFive)
		s.r.Event(recording.EventHook, "process/100.1", recording.Attrs(recording.Hook{State: "silent", Reason: "none",
			NoLoader: none}))
		s.run(30, moment{run: 0.4, locked: 0.6, gpu: 0.6})
		e := s.evidence()
		if v, ok := e.Get(metric.InWorkerless); e.Facts.NoLoader != none || !ok || math.Abs(v.Center-loads) > 0.01 ||
			v.Hi < 0.35 {
			t.Errorf("no loader %v: %v, loads %+v, want %v", none, e.Facts.NoLoader, v, loads)
		}
	}
}

func TestHookClockOfAnotherOrigin(t *testing.T) {
	l := launchTwo(t, afterFive)
	l.begin(0, 0, 2)
	l.plain(0, 30, 0.03, 0.02)
	rec := l.finish()
	rec.Header.StartMonotonic += 3600e9
	edit(rec, metric.HookClock, func(points []recording.Point) []recording.Point {
		for i := range points {
			points[i].Value -= 10
		}
		return points
	})
	near(t, l.derive(rec), 1e-6, map[metric.Desc]float64{metric.InputWait: 0.6, metric.BatchesPerS: 20})
}

// TestHookLessThanAll: messages that were lost cost no amount, but epochs; a hook that switched itself off late
// reported enough.
func TestHookLessThanAll(t *testing.T) {
	l := launchTwo(t, recording.Header{})
	for range 6 {
		l.begin(0, 0, 2)
		l.plain(0, 6, 0.01, 0.04)
		l.end(0, 0)
		l.lost += 2
	}
	rec := l.finish()
	rec.Events = slices.DeleteFunc(rec.Events, func(e recording.Event) bool {
		return e.Kind == recording.EventEpoch && slices.Contains([]string{"2", "3", "4"}, e.Attrs["epoch"])
	})
	e := l.derive(rec)
	near(t, e, 1e-6, map[metric.Desc]float64{metric.InputWait: 0.2, metric.EpochTime: 6, metric.Restarts: 4})
	if len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "times of epochs are of 2 of 4") {
		t.Errorf("lost messages: %q", e.Warnings)
	}

	l = launchTwo(t, recording.Header{})
	l.begin(0, 0, 2)
	l.plain(0, 27, 0.01, 0.04)
	l.r.Event(recording.EventHook, "process/100.1", map[string]string{"state": "off", "reason": "it raised"})
	l.off = true
	l.plain(0, 3, 0.01, 0.04)
	e = l.evidence()
	near(t, e, 1e-6, map[metric.Desc]float64{metric.InputWait: 0.2})
	if len(e.Warnings) != 1 || e.Warnings[0] != "the hook switched itself off: it raised; the exact figures are of "+
		"the time before" {
		t.Errorf("off late: %q", e.Warnings)
	}
}

// TestHookWorkersThatWaitForTheirThreads: of the 80 ms that a batch takes, 50 of them on a CPU of the thread that makes
// it, workers are seen to wait for threads of theirs for most of the rest. That is no waiting of the batch. A loader of
// which it is not known whether it has workers is judged as well.
func TestHookWorkersThatWaitForTheirThreads(t *testing.T) {
	for _, c := range []struct {
		name    string
		workers []string // as the loader tells how many
		threads float64  // CPUs
		waits   float64
	}{
		{"without threads", nil, 0, 0.030},
		{"with threads", nil, 0.74, 0.006}, // 20 batches/s of two workers: 0.24 of a worker's time is 24 ms a batch
		{"of an odd number", []string{"num_workers", ""}, 0.74, 0.030},
	} {
		l := launch(t, afterFive)
		l.loader(0, 88, 2, c.workers...)
		l.bear("100.1", 2, 50)
		l.samples = moment{wait: 0.6, run: 0.2, asleep: 0.2, idle: 0.26, work: 0.5, inLock: 0.24, beside: c.threads,
			gpu: -1, batches: 20}
		l.begin(0, 0, 2)
		l.plain(0, 25, 0.03, 0.02)
		near(t, l.evidence(), 2e-3, map[metric.Desc]float64{metric.WorkerWaitBatch: c.waits})
	}
}
