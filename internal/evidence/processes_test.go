package evidence

import (
	"cmp"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestWorkersThatRunPrograms: what a worker's programs use is the worker's CPU time and the job's, no wait and nobody
// else's.
func TestWorkersThatRunPrograms(t *testing.T) {
	for _, programs := range []float64{0, 0.6} {
		s := twoWorkers(t, recording.Header{})
		s.run(30, moment{wait: 0.5, run: 0.1, asleep: 0.4, work: 0.2, programs: programs, batches: 10, gpu: -1})
		e := s.evidence()
		near(t, e, 0.02, map[metric.Desc]float64{
			metric.WorkerRunning: 0.2, metric.WorkerOtherWait: 0.8 - programs, metric.WorkerCPU: 0.2 + programs,
			metric.WorkerCPUBatch: 2 * (0.2 + programs) / 10, metric.WorkerWaitBatch: 2 * (0.8 - programs) / 10,
			metric.JobCPU: 0.1 + 2*(0.2+programs), metric.OtherCPU: 0.5,
		})
		if v, ok := e.Get(metric.WorkerPrograms); ok != (programs > 0) || ok && (v.Center < 0.58 || v.Center > 0.62) {
			t.Errorf("programs of %v CPUs: %v, %v", programs, v, ok)
		}
	}
}

// TestWorkersThatComputeInThreads: their main thread's time is what a batch takes, not all of their CPU time. While a
// program or other threads of theirs compute, that thread waits for them and not for somebody else's lock; what these
// queue is no cost of a batch.
func TestWorkersThatComputeInThreads(t *testing.T) {
	for _, c := range []struct {
		name                                          string
		work, beside, programs, delay, inLock         float64 // of work 0.3 where it is 0
		parallel, ownThreads, lock, runDelay, perWait float64
	}{
		{name: "one thread", parallel: 1},
		{name: "another thread all the time", beside: 0.3, parallel: 2},
		{name: "programs", beside: 0.3, programs: 0.4, parallel: 1 / 0.7},
		{name: "threads that are waited for", beside: 0.6, inLock: 0.3, parallel: 0.9 / 0.6, ownThreads: 0.3},
		{name: "and one that computes for a part of it", beside: 0.1, inLock: 0.3, parallel: 0.4 / 0.35,
			ownThreads: 0.05, lock: 0.25, perWait: 0.25},
		{name: "another process's lock", inLock: 0.3, parallel: 1, lock: 0.3, perWait: 0.3},
		{name: "a main thread that hardly computes", work: 0.01, beside: 0.9, delay: 0.01, inLock: 0.88,
			parallel: 0.91 / 0.89, ownThreads: 0.88, runDelay: 0.01},
		{name: "threads that queue", beside: 0.45, delay: 0.3, inLock: 0.3, parallel: 0.75 / 0.45, ownThreads: 0.3,
			runDelay: 0.45},
	} {
		s := twoWorkers(t, recording.Header{})
		work := cmp.Or(c.work, 0.3)
		s.run(30, moment{wait: 0.5, run: 0.1, asleep: 0.4, work: work, idle: 1 - work - c.programs - c.delay - c.inLock,
			beside: c.beside, programs: c.programs, delay: c.delay, inLock: c.inLock, batches: 10, gpu: -1})
		e := s.evidence()
		t.Log(c.name)
		near(t, e, 0.02, map[metric.Desc]float64{metric.WorkerParallel: c.parallel, metric.WorkerLock: c.lock,
			metric.WorkerRunDelay: c.runDelay, metric.WorkerWaitBatch: 2 * c.perWait / 10})
		if v, _ := e.Get(metric.WorkerOwnThreads); v.Center < c.ownThreads-0.01 || v.Center > c.ownThreads+0.01 {
			t.Errorf("waits for its own threads %v of the time, want %v", v.Center, c.ownThreads)
		}
	}
}

// TestProgramsOfWorkersAreCountedOnce: one that lived long enough to be seen is counted by itself while it lives, and
// as its worker's from its end on, when the kernel adds what it used to that.
func TestProgramsOfWorkersAreCountedOnce(t *testing.T) {
	for _, ends := range []float64{0, 15} { // after so many seconds of 30; 0: not
		s := withWorkers(t, 1, recording.Header{})
		worker := s.workers["100.1"][0]
		pid, _, _ := strings.Cut(worker, ".")
		const program = "process/7.7"
		s.r.Event(recording.EventProcess, program, s.attrs("7.7", bootSeconds-1,
			[]string{"role", "other", "ppid", pid}))
		for i := range 30 {
			second := float64(i)
			if ends == 0 || second < ends {
				s.r.Add(metric.ProcCPU, program, 0.5*second)
			} else if second == ends {
				s.r.Event(recording.EventExit, program, nil)
				s.sums[metric.ProcEndedCPU.Name+" process/"+worker] += 0.5 * ends
			}
			s.run(1, moment{wait: 0.5, run: 0.1, asleep: 0.4, work: 0.2, batches: 10, gpu: -1})
		}
		used := 0.1 + 0.2 + 0.5
		if ends > 0 {
			used = 0.1 + 0.2 + 0.5*ends/30
		}
		e := s.evidence()
		near(t, e, 0.03, map[metric.Desc]float64{metric.JobCPU: used})
	}
}

// TestTrainersInTurnAreNoRanks: of two trainings one after the other the longer one is reported, whichever waits more;
// two beside each other are ranks.
func TestTrainersInTurnAreNoRanks(t *testing.T) {
	short, long := moment{wait: 0.9, run: 0.1, gpu: -1, batches: 10}, moment{wait: 0.2, run: 0.8, gpu: -1, batches: 20}
	for _, c := range []struct {
		name        string
		longFirst   bool
		says        string
		from, until float64
	}{{"the second is longer", false, "1 ran before and 0 after", 12, 42}, {"the first is longer", true,
		"0 ran before and 1 after", 0, 30}} {
		s := simulate(t, recording.Header{})
		play := func(id string, seconds float64, m moment) {
			s.trainer(id)
			s.bear(id, 2, 0)
			s.run(seconds, m, id)
			s.bury(id)
			s.r.Event(recording.EventExit, "process/"+id, nil)
		}
		if c.longFirst {
			play("200.1", 30, long)
			play("100.1", 12, short)
		} else {
			play("100.1", 12, short)
			play("200.1", 30, long)
		}
		e := s.evidence()
		sound(t, e)
		near(t, e, 0.05, map[metric.Desc]float64{metric.InputWait: 0.2, metric.BatchesPerS: 20, metric.Ranks: 1})
		if len(e.Ranks) != 1 || e.Ranks[0].PID != 200 || e.Window.Start.Seconds() < c.from ||
			e.Window.End.Seconds() > c.until+1 {
			t.Errorf("%s: ranks %+v, window %+v", c.name, e.Ranks, e.Window)
		}
		if !warned(e, c.says) || !warned(e, "pid 200") {
			t.Errorf("%s: warned %q", c.name, e.Warnings)
		}
	}
	s := withWorkers(t, 0, recording.Header{})
	s.trainer("200.1")
	s.bear("100.1", 2, 0)
	s.bear("200.1", 2, 0)
	s.run(30, long, "100.1", "200.1")
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.Ranks: 2})
	if warned(e, "one after the other") {
		t.Errorf("ranks: warned %q", e.Warnings)
	}
}
