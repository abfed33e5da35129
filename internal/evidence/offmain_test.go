package evidence

import (
	"math"
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
		l.samples.asleep, l.samples.locked = 0, l.samples.asleep
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

// TestLocksBoundAWaitThatIsNotSeen: whoever takes the batches, the main thread waits for that one in a lock.
func TestLocksBoundAWaitThatIsNotSeen(t *testing.T) {
	prefetched := func(takes string, m moment) *Evidence {
		l := launchTwo(t, afterFive)
		l.takes, l.samples = takes, m
		l.begin(0, 0.1, 2)
		for range 598 {
			l.grow(metric.HookOffMain, l.loop(0), 1)
			l.make(0, 1)
			l.step(0, true, 0.001, 0.049)
		}
		return l.evidence()
	}
	e := prefetched("somebody", moment{run: 0.05, asleep: 0.87, locked: 0.08, work: 1, batches: 20, gpu: -1})
	sound(t, e)
	if v, ok := e.Get(metric.InputWait); !ok || v.Lo != 0 || v.Hi < 0.019 || v.Hi > 0.021 ||
		v.Basis != metric.Inferred || e.Facts.OffMain != "" {
		t.Errorf("input wait %+v, %t, %q; want 0 to 2 %%, what the thread that takes the batches waits", v, ok,
			e.Facts.OffMain)
	}
	if v, ok := e.Get(metric.FreeStepTime); !ok || v.Lo > 0.0491 || v.Hi < 0.0499 {
		t.Errorf("free step %+v, %t; want 49 to 50 ms", v, ok)
	}
	for _, lost := range []float64{0, 0.3} { // of the time, the thread was not followed: it begins anew each epoch
		found := moment{wait: 0.4, run: 0.05, asleep: 0.25, locked: 0.3, work: 1, batches: 20, gpu: -1, lost: lost}
		e = prefetched("taker", found)
		sound(t, e)
		if v, ok := e.Get(metric.InputWait); !ok || math.Abs(v.Center-found.wait) > 0.01 || e.Facts.OffMain != "" {
			t.Errorf("input wait %+v, %t, %q; want 40 %%, as sampled of both threads", v, ok, e.Facts.OffMain)
		}
	}
}

// TestSeemsAside: from outside, batches that pass and that the main thread reads none of are taken by another thread.
// How long a step waits for that one is known where it was found, and where the main thread has little time for it.
func TestSeemsAside(t *testing.T) {
	prefetched := moment{run: 0.01, locked: 0.99, idle: 0.3, work: 0.7, batches: 20, gpu: -1}
	with := func(change func(*moment)) moment {
		m := prefetched
		change(&m)
		return m
	}
	for _, c := range []struct {
		name    string
		workers int
		takes   string
		m       moment
		want    string
	}{
		{"a prefetcher", 2, "somebody", prefetched, SeemsOffMain},
		{"a prefetcher that was found", 2, "taker", with(func(m *moment) { m.wait, m.locked = 0.6, 0.39 }), ""},
		{"a GPU half busy bounds it", 2, "somebody", with(func(m *moment) { m.gpu = 0.5 }), ""},
		{"a GPU half busy, and workers that set the pace", 2, "somebody", with(func(m *moment) {
			m.gpu, m.idle, m.work = 0.5, 0.01, 0.99
		}), ""},
		{"a GPU explains the sleep", 2, "somebody", with(func(m *moment) { m.gpu = 0.9 }), ""},
		{"a trainer that takes them itself", 2, "main", prefetched, ""},
		{"nothing tells who takes them", 2, "", prefetched, ""},
		{"a main thread at its own limit", 2, "somebody", with(func(m *moment) { m.run, m.locked = 0.9, 0.1 }), ""},
		{"no workers, a thread that loads", 0, "", moment{asleep: 1, others: 0.9, gpu: -1}, OthersAtWork},
		{"no workers, a thread that loads and a GPU half busy", 0, "", moment{asleep: 1, others: 0.9, gpu: 0.5},
			OthersAtWork},
		{"no workers, a GPU explains the sleep", 0, "", moment{asleep: 1, others: 0.9, gpu: 0.9}, ""},
		{"no workers, quiet threads", 0, "", moment{asleep: 1, others: 0.02, gpu: -1}, ""},
		{"no workers, a main thread that loads", 0, "", moment{run: 0.5, asleep: 0.5, others: 0.9, gpu: -1,
			trainerReads: 1e9}, ""},
	} {
		s := withWorkers(t, c.workers, recording.Header{})
		s.takes = c.takes
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

// TestPrefetcherBehindPinning: where PyTorch's thread pins the batches, who takes them from that one waits in timed
// locks. A main thread that does not, while the workers set the pace, waits for another thread, which takes them.
func TestPrefetcherBehindPinning(t *testing.T) {
	starves := func(locked, wait, idle, gpu float64) moment {
		return moment{run: 0.08, locked: locked, wait: wait, idle: idle, work: 1 - idle, batches: 8, gpu: gpu}
	}
	for _, c := range []struct {
		name   string
		takes  string // "": PyTorch's thread
		m      moment
		lo, hi float64
	}{
		{"a prefetcher, found late", "taker", moment{run: 0.08, wait: 0.6, locked: 0.3, idle: 0.01, work: 0.99,
			batches: 8, gpu: 0.05, lost: 0.3}, 0.59, 0.61},
		{"a prefetcher, found too late", "taker", moment{run: 0.08, wait: 0.6, locked: 0.32, idle: 0.01, work: 0.99,
			batches: 8, gpu: 0.05, lost: 0.8}, 0.87, 0.92},
		{"a prefetcher behind pinning", "", starves(0.92, 0, 0.01, 0.05), 0.87, 0.92},
		{"the main thread itself", "", starves(0, 0.92, 0.01, 0.05), 0.91, 0.93},
		{"workers with time to spare", "", starves(0.92, 0, 0.3, 0.05), 0, 0.01},
		{"a GPU that explains the sleep", "", starves(0.92, 0, 0.01, 0.98), 0, 0.01},
	} {
		s := twoWorkers(t, recording.Header{})
		s.pins, s.takes = c.takes == "", c.takes
		s.run(30, c.m)
		e := s.evidence()
		if v, ok := e.Get(metric.InputWait); !ok || v.Center < c.lo || v.Center > c.hi || e.Facts.OffMain != "" {
			t.Errorf("%s: input wait %+v, %t, %q; want %.2f to %.2f", c.name, v, ok, e.Facts.OffMain, c.lo, c.hi)
		}
	}
}

// TestWaitsForTheGlobalLock: of the time in which the main thread waits for Python's global lock it is not seen how
// much is part of taking a batch. A thread that pins batches may hold it, and would not if data were free.
func TestWaitsForTheGlobalLock(t *testing.T) {
	for _, c := range []struct {
		name           string
		pins           bool
		wait, lo, most float64 // the input wait, its upper end, and the headroom's
		headroom       float64
	}{
		{"a thread that pins", true, 0.1, 0.1, 0.3, 1 / (1 - 0.1 - 0.2)},
		{"none, and tensors of workers", false, 0.2, 0.1, 0.3, 1 / (1 - 0.2)},
	} {
		s := withWorkers(t, 1, recording.Header{})
		s.pins = c.pins
		s.run(30, moment{wait: 0.1, run: 0.7, gil: 0.2, idle: 0.5, work: 0.5, batches: 5, gpu: 0.1})
		e := s.evidence()
		wait, _ := e.Get(metric.InputWait)
		gil, _ := e.Get(metric.GILWait)
		head, _ := e.Get(metric.Headroom)
		if math.Abs(wait.Center-c.wait) > 0.011 || math.Abs(wait.Lo-c.lo) > 0.011 || math.Abs(wait.Hi-c.most) > 0.011 ||
			math.Abs(gil.Center-0.2) > 0.001 || math.Abs(head.Center-c.headroom) > 0.1 ||
			math.Abs(head.Hi-1/(1-0.1-0.2)) > 0.05 {
			t.Errorf("%s: wait %+v, lock %+v, headroom %+v", c.name, wait, gil, head)
		}
	}
}
