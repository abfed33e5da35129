package evidence

import (
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestHookAside: of batches that a prefetcher takes, counts and costs are reported, and no wait of a step; a few of
// them change nothing.
func TestHookAside(t *testing.T) {
	for _, c := range []struct {
		name  string
		every int // of so many steps one is taken aside
		want  bool
	}{{"a prefetcher", 1, true}, {"one in three", 3, false}} {
		l := launchTwo(t, afterFive)
		l.samples = inputBound
		l.begin(0, 0.1, 2)
		for i := range 598 {
			if i%c.every == 0 {
				l.grow(metric.HookOffMain, l.loop(0), 1)
			}
			l.make(0, 1)
			l.step(0, true, 0.03, 0.02)
		}
		e := l.evidence()
		sound(t, e)
		h := e.Facts.Hook
		if h == nil || (e.Facts.OffMain != "") != c.want {
			t.Fatalf("%s: %+v", c.name, h)
		}
		near(t, e, 1e-6, map[metric.Desc]float64{metric.BatchesPerS: 20, metric.MadeItem: 0.0025,
			metric.FetchTime: 0.08, metric.StepTime: 0.05})
		why, cure := e.WhyMissing(metric.InputWait)
		_, waits := e.Get(metric.InputWait)
		_, free := e.Get(metric.FreeStepTime)
		_, host := e.Get(metric.HostTime)
		if c.want && (waits || free || host || why != TakenOffMain || cure == "" || e.Ranks[0].InputWait != nil ||
			e.Windows(metric.InputWait) != nil) || !c.want && !(waits && free && host) {
			t.Errorf("%s: input wait %v, free step %v, host %v; %q", c.name, waits, free, host, why)
		}
	}
}

// TestIdleWorkersBoundAWaitThatIsNotSeen: whoever takes the batches waits no longer than workers are at work, and that
// thread itself.
func TestIdleWorkersBoundAWaitThatIsNotSeen(t *testing.T) {
	prefetched := func(threads float64) *Evidence {
		l := launchTwo(t, afterFive)
		l.samples = moment{run: 0.05, asleep: 0.95, others: threads, idle: 0.96, work: 0.04, batches: 20, gpu: -1}
		l.begin(0, 0.1, 2)
		for range 598 {
			l.grow(metric.HookOffMain, l.loop(0), 1)
			l.make(0, 1)
			l.step(0, true, 0.001, 0.049)
		}
		return l.evidence()
	}
	if _, ok := prefetched(0.5).Get(metric.InputWait); ok {
		t.Error("the thread that takes the batches may be what a step waits for, and it is said to be none")
	}
	e := prefetched(0)
	sound(t, e)
	if v, ok := e.Get(metric.InputWait); !ok || v.Lo != 0 || v.Hi < 0.07 || v.Hi > 0.1 || v.Basis != metric.Inferred ||
		e.Facts.OffMain != "" {
		t.Errorf("input wait %+v, %t, %q; want 0 to 8 %%, for two workers that work 4 %%", v, ok, e.Facts.OffMain)
	}
	if v, ok := e.Get(metric.FreeStepTime); !ok || v.Lo > 0.047 || v.Hi < 0.0499 {
		t.Errorf("free step %+v, %t; want 46 to 50 ms", v, ok)
	}
}

// TestSeemsAside: from outside, workers that are never idle and a main thread that does not wait for them belong
// together only where something lies between, or the main thread is seen to have something else to do.
func TestSeemsAside(t *testing.T) {
	prefetched := moment{wait: 0.01, run: 0.01, asleep: 0.98, idle: 0.01, work: 0.99, batches: 20, gpu: -1}
	with := func(change func(*moment)) moment {
		m := prefetched
		change(&m)
		return m
	}
	for _, c := range []struct {
		name    string
		workers int
		m       moment
		want    string
	}{
		{"a prefetcher before workers at their limit", 2, prefetched, SeemsOffMain},
		{"workers that wait for storage at their limit", 2, with(func(m *moment) { m.work, m.disk = 0.2, 0.79 }),
			SeemsOffMain},
		{"a GPU half busy explains half of the sleep", 2, with(func(m *moment) { m.gpu = 0.5 }), SeemsOffMain},
		{"a GPU explains the sleep", 2, with(func(m *moment) { m.gpu = 0.9 }), ""},
		{"workers ahead", 2, with(func(m *moment) { m.idle, m.work = 0.3, 0.7 }), ""},
		{"a trainer that waits for them itself", 2, with(func(m *moment) { m.wait, m.asleep = 0.5, 0.49 }), ""},
		{"a main thread at its own limit", 2, with(func(m *moment) { m.run, m.asleep = 0.9, 0.09 }), ""},
		{"no workers, a thread that loads", 0, moment{asleep: 1, others: 0.9, gpu: -1}, OthersAtWork},
		{"no workers, a thread that loads and a GPU half busy", 0, moment{asleep: 1, others: 0.9, gpu: 0.5},
			OthersAtWork},
		{"no workers, a GPU explains the sleep", 0, moment{asleep: 1, others: 0.9, gpu: 0.9}, ""},
		{"no workers, quiet threads", 0, moment{asleep: 1, others: 0.02, gpu: -1}, ""},
		{"no workers, a main thread that loads", 0, moment{run: 0.5, asleep: 0.5, others: 0.9, gpu: -1,
			trainerReads: 1e9}, ""},
	} {
		s := simulate(t, recording.Header{})
		s.trainer("100.1")
		s.bear("100.1", c.workers, 50)
		s.run(30, c.m)
		e := s.evidence()
		if e.Facts.OffMain != c.want {
			t.Errorf("%s: %q, want %q", c.name, e.Facts.OffMain, c.want)
		}
		for _, d := range []metric.Desc{metric.InputWait, metric.InWorkerless, metric.FreeStepTime, metric.HostTime} {
			if v, ok := e.Get(d); ok && c.want != "" || e.Windows(d) != nil && c.want != "" {
				t.Errorf("%s: %s is %v", c.name, d.Name, v)
			}
		}
		if why, cure := e.WhyMissing(metric.InputWait); c.want != "" && (why != c.want || cure == "" ||
			e.Ranks[0].InputWait != nil) {
			t.Errorf("%s: missing for %q (%q), rank %+v", c.name, why, cure, e.Ranks[0])
		}
		if _, ok := e.Get(metric.BatchesPerS); ok != (c.workers > 0) {
			t.Errorf("%s: counts stand: %v", c.name, ok)
		}
	}
}
