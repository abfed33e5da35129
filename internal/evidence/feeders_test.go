package evidence

import (
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// feeding is the true state of who may feed a trainer: shares of its samples, the rest is in a lock.
type feeding struct{ work, disk, timer, others, remote float64 }

const aPool, aThread = "process/200.2", "thread/100.1.110"

// feed lets a job without workers be in a state for so many seconds, of which the main thread waits for who feeds it.
func (s *simulation) feed(seconds, waits float64, m moment, who map[string]feeding) {
	for entity := range who {
		if thread := strings.HasPrefix(entity, "thread/"); thread {
			s.r.Event(recording.EventThread, entity, map[string]string{"trainer": "process/100.1", "tid": "110",
				"comm": "python3"})
		} else {
			s.r.Event(recording.EventProcess, entity, map[string]string{"role": "feeder", "trainer": "process/100.1",
				"pid": "200", "comm": "python3", "start_s": "990.00"})
		}
	}
	s.pins = true // the main thread waits in a lock
	for range int(seconds/s.tick + 0.5) {
		s.run(s.tick, m)
		working := 0.0
		for entity, f := range who {
			s.count(metric.ThreadSamples, entity, s.samples)
			s.count(metric.ThreadRunning, entity, s.samples*f.work)
			s.count(metric.ThreadDisk, entity, s.samples*f.disk)
			s.count(metric.ThreadSleep, entity, s.samples*f.timer)
			s.count(metric.ThreadFutex, entity, s.samples*(1-f.work-f.disk-f.timer-f.remote))
			s.count(metric.ThreadOther, entity, s.samples*f.remote)
			s.count(metric.ThreadRemote, entity, s.samples*f.remote)
			s.count(metric.FeederAtWork, entity, s.samples*f.others)
			s.count(metric.ProcMainCPU, entity, s.tick*f.work)
			if entity == aPool {
				s.count(metric.ProcCPU, entity, s.tick*f.work)
			}
			working += f.work + f.disk + f.remote
		}
		s.count(metric.LoaderSamples, "feeders/100.1", s.samples)
		s.count(metric.LoaderWaiting, "feeders/100.1", s.samples*waits)
		s.count(metric.LoaderWaitAlive, "feeders/100.1", s.samples*waits*float64(len(who)))
		s.count(metric.LoaderWaitIdle, "feeders/100.1", s.samples*waits*(float64(len(who))-working))
	}
}

// TestFed: a process that is at work feeds its trainer, a thread only where it works beside a main thread that does
// not; the busier stage stands for both.
func TestFed(t *testing.T) {
	waiting := moment{wait: 0.8, asleep: 0.15, run: 0.05, gpu: -1}
	for _, c := range []struct {
		name string
		who  map[string]feeding
		fed  *Fed
		busy float64
	}{
		{"a pool at its limit", map[string]feeding{aPool: {work: 0.95, others: 0.9}}, &Fed{Name: "python3"}, 0.95},
		{"a pool that waits for storage", map[string]feeding{aPool: {work: 0.05, disk: 0.9, others: 0.9}},
			&Fed{Name: "python3"}, 0.95},
		{"a thread at its limit", map[string]feeding{aThread: {work: 1, others: 0.95}},
			&Fed{Threads: true, Name: "python3"}, 1},
		{"a pool, and the thread that takes its results", map[string]feeding{aPool: {work: 0.9, others: 0.9},
			aThread: {work: 0.2, others: 0.2}},
			&Fed{Name: "python3"}, 0.9},
		{"a thread that unpickles more slowly than the pool makes", map[string]feeding{aPool: {work: 0.3, others: 0.3},
			aThread: {work: 0.9, others: 0.8}}, &Fed{Threads: true, Name: "python3"}, 0.9},
		{"a thread of a mathematical library", map[string]feeding{aThread: {work: 0.3, others: 0.1}}, nil, 0},
		{"a pool that waits for a store", map[string]feeding{aPool: {work: 0.1, remote: 0.85, others: 0.9}},
			&Fed{Name: "python3"}, 0.95},
		{"a helper that waits for its server", map[string]feeding{aPool: {work: 0.02, remote: 0.97, others: 0.9}}, nil,
			0},
		{"a helper that polls", map[string]feeding{aPool: {work: 0.01, timer: 0.99}}, nil, 0},
	} {
		s := withWorkers(t, 0, recording.Header{})
		s.feed(30, 0.8, waiting, c.who)
		e := s.evidence()
		sound(t, e)
		got := e.Facts.Fed
		if (got == nil) != (c.fed == nil) || got != nil && *got != *c.fed {
			t.Errorf("%s: fed by %+v, want %+v", c.name, got, c.fed)
			continue
		}
		if got == nil {
			want(t, e, map[metric.Desc]float64{metric.NumWorkers: 0, metric.WorkerBusy: absent,
				metric.FeedersAtOnce: absent})
			continue
		}
		near(t, e, 0.01, map[metric.Desc]float64{metric.NumWorkers: 1, metric.InputWait: 0.8, metric.DataStall: 0.8,
			metric.WorkerBusy: c.busy, metric.WorkerIdle: 1 - c.busy})
		want(t, e, map[metric.Desc]float64{metric.BatchesPerS: absent, metric.IdleWhileWaits: absent,
			metric.InWorkerless: absent})
		if e.Facts.OffMain != "" || e.Facts.Prefetch != nil {
			t.Errorf("%s: %+v", c.name, e.Facts)
		}
	}
}

// TestFeedingThreadsAreNoStep: what feeds a trainer from within it is not its own CPU time.
func TestFeedingThreadsAreNoStep(t *testing.T) {
	s := withWorkers(t, 0, recording.Header{})
	s.feed(30, 0.8, moment{wait: 0.8, asleep: 0.15, run: 0.05, others: 1, gpu: -1},
		map[string]feeding{aThread: {work: 1, others: 0.95}})
	near(t, s.evidence(), 0.01, map[metric.Desc]float64{metric.TrainerCPU: 0.05, metric.WorkerCPU: 1})
}

// TestStartup: until a young job shows a first sign of a step nothing is reported training.
func TestStartup(t *testing.T) {
	importing := moment{run: 1, gpu: -1, trainerReads: 1 << 20}
	compiling := moment{run: 1, idle: 1, ahead: 1, gpu: -1}
	with := func(m moment, change func(*moment)) moment { change(&m); return m }
	for _, c := range []struct {
		name    string
		age     string
		workers int
		m       moment
		want    bool
	}{
		{"an import", "990.00", 0, importing, true},
		{"an import beside an idle GPU", "990.00", 0, with(importing, func(m *moment) { m.gpu = 0 }), true},
		{"a step that compiles", "990.00", 2, compiling, true},
		{"a job that has run for an hour", "100.00", 0, importing, false},
		{"a GPU that works a little", "990.00", 0, with(importing, func(m *moment) { m.gpu = 0.01 }), false},
		{"a main thread that sleeps in its steps", "990.00", 0, with(importing, func(m *moment) {
			m.run, m.asleep = 0.9, 0.1
		}), false},
		{"a model that computes on several CPUs", "990.00", 0, with(importing, func(m *moment) { m.others = 0.9 }),
			false},
		{"workers with something to do", "990.00", 2, with(compiling, func(m *moment) {
			m.idle, m.work, m.ahead = 0.7, 0.3, 0.5
		}), false},
		{"batches that pass", "990.00", 2, with(compiling, func(m *moment) { m.batches = 1 }), false},
	} {
		s := simulate(t, recording.Header{})
		s.trainer("100.1", "start_s", c.age)
		s.bear("100.1", c.workers, 5)
		s.run(30, c.m)
		e := s.evidence()
		sound(t, e)
		if got := e.Window.Startup; got.Whole != c.want || c.want && got.Doing == "" {
			t.Errorf("%s: %+v, want %v", c.name, got, c.want)
		}
	}
}

// TestStartupIsLeftOut: what comes after it is reported, and how long it was.
func TestStartupIsLeftOut(t *testing.T) {
	s := simulate(t, recording.Header{})
	s.trainer("100.1", "start_s", "998.00")
	s.run(12, moment{run: 1, gpu: -1, trainerReads: 1 << 20})
	s.bear("100.1", 2, 0)
	s.run(20, inputBound)
	e := s.evidence()
	if got := e.Window.Startup; got.Whole || got.To < 11 || got.To > 13 || e.Window.Start.Seconds() < got.To {
		t.Errorf("%+v, the window begins at %s", got, e.Window.Start)
	}
	near(t, e, 0.03, map[metric.Desc]float64{metric.InputWait: 0.6, metric.HostTime: 0.1})
	if !warned(e, "starting up until 12 s of the watch") {
		t.Errorf("it is not said: %q", e.Warnings)
	}

	late := simulate(t, recording.Header{Warmup: 3 * time.Second})
	late.trainer("100.1", "start_s", "990.00")
	late.bear("100.1", 2, 5)
	late.run(2, inputBound)
	late.run(28, moment{run: 1, idle: 1, ahead: 1, gpu: -1})
	if got := late.evidence().Window.Startup; !got.Whole {
		t.Errorf("a step that compiles, after others in the warm-up: %+v", got)
	}

	for _, batches := range []bool{true, false} {
		launched := simulate(t, recording.Header{Mode: "launch"})
		launched.trainer("100.1", "start_s", "998.00")
		if batches {
			launched.count(metric.HookSteps, "loop/100.1.0", 1)
		}
		launched.run(30, moment{run: 1, gpu: -1, trainerReads: 1 << 20})
		if got := launched.evidence().Window.Startup; got.Whole == batches {
			t.Errorf("a launched job, watched from its first batch on (%t): %+v", batches, got)
		}
	}
}
