package sampler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestChangeover ends sets of workers and begins others, as new epochs do: the trainer forks for some samples, waits
// for some, and works; the tree hears of a new worker late.
func TestChangeover(t *testing.T) {
	m := newJob(t, 1)
	w := m.watch()
	born := func(pid int, ago time.Duration) {
		m.uptime(10*pid + int((ago+SampleInterval)/(10*time.Millisecond))) // it is adopted in the next pass
		m.process(pid, job.Worker, 100)
	}
	works := func(n int) {
		m.thread(100, 100, inSleep, "hrtimer_nanosleep", 'S')
		w.samples(n)
	}
	turns := 1
	change := func(forks, waits int) {
		m.thread(100, 100, running, "0", 'R')
		w.samples(forks)
		m.thread(100, 100, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
		turns += forks
		m.put(100, "task/100/schedstat", fmt.Sprintf("1000000 1000 %d\n", turns))
		w.samples(waits)
	}
	ends := func(pids ...int) {
		for _, pid := range pids {
			m.thread(pid, pid, inFault, "0", 'Z')
		}
	}
	told := func(name string, took float64, want ...recording.Changeover) {
		t.Helper()
		var got []recording.Changeover
		for _, d := range w.trainers[0].loaders[0].change.done {
			got = append(got, d.row)
		}
		for i := range want {
			want[i].Took = took * SampleInterval.Seconds()
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		events := w.book().events
		if len(want) > 0 && !slices.Contains(events, recording.EventChangeover+" "+loader100) {
			t.Errorf("%s: not recorded, but %q", name, events)
		}
	}
	// settled is told after the trainer has worked on for a while; the tree hears of the ended workers.
	settled := func(name string, ended []int, took float64, want ...recording.Changeover) {
		t.Helper()
		works(18)
		for _, pid := range ended {
			m.remove(pid)
		}
		told(name, took, want...)
	}

	works(10)
	ends(101)
	change(3, 3) // the first sample finds the end
	works(2)
	born(102, 5*SampleInterval)
	works(5)
	told("others may be born still", 0)
	settled("one that forks", []int{101}, 6.5, recording.Changeover{Samples: 6, Running: 3})

	ends(102)
	change(2, 1)
	born(103, SampleInterval)
	change(0, 4) // waits are counted as such from the time that the worker is known
	settled("a slower start", []int{102}, 7.5, recording.Changeover{Samples: 7, Running: 2, Waiting: 4})

	ends(103)
	change(0, 1) // the end is found in the sample after the one that waits for it
	change(1, 0)
	born(104, 0)
	change(0, 3)
	settled("one that joins", []int{103}, 5.5, recording.Changeover{Samples: 5, Running: 1, Waiting: 3})

	ends(104)
	works(30) // an evaluation
	change(1, 0)
	born(105, 0)
	change(1, 3)
	settled("after an evaluation", []int{104}, 4.5, recording.Changeover{Samples: 4, Running: 1, Waiting: 3})

	ends(105)
	change(1, 0)
	born(106, 0)
	works(2) // it had its batch
	change(0, 3)
	settled("a wait for the second batch", []int{105}, 0)

	ends(106)
	change(1, 0)
	born(107, 0)
	change(0, 2)
	turns++
	change(0, 3) // it had its batch, and worked, between two samples
	settled("a step that no sample saw", []int{106}, 3.5, recording.Changeover{Samples: 3, Running: 1, Waiting: 2})

	ends(107)
	change(1, 0)
	born(108, 0)
	change(0, 2)
	m.remove(107)
	m.put(100, "task/100/schedstat", "0 0 0\n")
	w.samples(1)
	settled("a kernel without an account of turns", nil, 0)

	change(1, 0)
	born(109, 0)
	change(1, 3)
	settled("a worker of a second loader", nil, 0)

	ends(108)
	change(1, 0)
	ends(109)
	change(1, 0)
	born(110, 0)
	change(0, 3)
	settled("two that end one after the other", []int{108, 109}, 5.5,
		recording.Changeover{Samples: 5, Running: 2, Waiting: 3})

	ends(110)
	change(2, 0)
	born(111, 0)
	change(1, 0)
	born(112, 0)
	change(0, 2)
	turns++
	change(0, 2) // a batch came that was not the next one
	settled("two workers", []int{110}, 7.5, recording.Changeover{Samples: 7, Running: 3, Waiting: 4})

	ends(111)
	works(4)
	ends(112) // a while later
	change(1, 0)
	born(113, 0)
	change(0, 3)
	settled("one that ended before", []int{111, 112}, 4.5, recording.Changeover{Samples: 4, Running: 1, Waiting: 3})

	ends(113)
	change(1, 0)
	born(114, 0)
	change(0, 3)
	works(4)
	ends(114) // an epoch of a fifth of a second
	works(1)
	m.remove(113)
	told("a short epoch", 4.5, recording.Changeover{Samples: 4, Running: 1, Waiting: 3})

	w.pace.interval, w.pace.least = 2*slowestTiming, 2*slowestTiming
	change(1, 0)
	born(115, 0)
	change(0, 3)
	settled("seldom sampled", nil, 0)
}

// TestChangeoverWithoutTurns: where a kernel does not tell how often a thread was given a CPU, one that waits for a
// single worker may have had a batch between two samples.
func TestChangeoverWithoutTurns(t *testing.T) {
	for workers, want := range map[int]int{1: 0, 2: 1} {
		m := newJob(t, 1)
		w := m.watch()
		w.samples(10)
		m.thread(101, 101, inFault, "0", 'Z')
		m.thread(100, 100, running, "0", 'R')
		w.samples(2)
		m.uptime(10 * (101 + workers))
		for i := range workers {
			m.process(102+i, job.Worker, 100)
		}
		m.thread(100, 100, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
		w.samples(4)
		m.thread(100, 100, inSleep, "hrtimer_nanosleep", 'S')
		w.samples(18)
		if got := len(w.trainers[0].loaders[0].change.done); got != want {
			t.Errorf("%d workers: %d changeovers, want %d", workers, got, want)
		}
	}
}

// TestChangeoverOfPinnedBatches: the main thread waits for the first batch in a lock, for a pinning thread that is not
// found yet. Without one that was seen before, such a lock may be the step's.
func TestChangeoverOfPinnedBatches(t *testing.T) {
	for _, pinned := range []bool{true, false} {
		m := newJob(t, 1)
		m.thread(100, 100, inTimedFutex, "futex_do_wait", 'S')
		m.put(100, "task/100/schedstat", "1000000 1000 3\n")
		if pinned {
			m.thread(100, 111, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
		}
		w := m.watch()
		w.samples(10)
		m.remove(111)
		m.thread(101, 101, inFault, "0", 'Z')
		w.samples(2)
		m.uptime(1020)
		m.process(102, job.Worker, 100)
		m.thread(100, 100, running, "0", 'R')
		w.samples(2)
		m.thread(100, 100, inTimedFutex, "futex_do_wait", 'S')
		w.samples(4)
		m.thread(100, 100, inSleep, "hrtimer_nanosleep", 'S')
		w.samples(18)
		if got := len(w.trainers[0].loaders[0].change.done); got != map[bool]int{true: 1}[pinned] {
			t.Errorf("pinned %v: %d changeovers", pinned, got)
		}
	}
}
