package sampler

import (
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
)

// TestPairedSamples walks a loader of two workers through its states: starved, a slow sample in front, ahead,
// restarting.
func TestPairedSamples(t *testing.T) {
	m := newJob(t, 2)
	w := m.watch()

	m.thread(101, 101, running, "0", 'R')
	m.thread(102, 102, running, "0", 'R')
	w.samples(10) // starved
	m.thread(101, 101, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
	w.samples(5) // head of line
	m.thread(102, 102, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
	m.thread(100, 100, running, "0", 'R')
	w.samples(20) // ahead
	b := w.book()
	b.want(t, loader100, map[metric.Desc]float64{
		metric.LoaderWorkers: 2, metric.LoaderSamples: 35, metric.LoaderWaiting: 15, metric.LoaderAliveSum: 70,
		metric.LoaderIdleSum: 45, metric.LoaderWaitIdle: 5, metric.LoaderWaitAlive: 30, metric.LoaderBlocked: 5,
		metric.LoaderAhead: 20, metric.LoaderNoWorkers: 0,
	})
	b.want(t, trainer100, map[metric.Desc]float64{metric.ThreadSamples: 35, metric.ThreadQueuePoll: 15,
		metric.ThreadRunning: 20})
	b.want(t, "process/101.1010", map[metric.Desc]float64{metric.ThreadSamples: 35, metric.ThreadQueuePoll: 25,
		metric.ThreadRunning: 10})

	m.remove(101)
	m.remove(102)
	w.samples(7)
	m.process(103, job.Worker, 100)
	w.samples(1)
	b = w.book()
	b.want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 1, metric.LoaderSamples: 36,
		metric.LoaderNoWorkers: 7})
	b.want(t, "process/101.1010", map[metric.Desc]float64{metric.ThreadSamples: 35})
	if _, still := w.book().last[metric.ThreadSamples.Name+" process/101.1010"]; still {
		t.Error("a worker that is gone is recorded for ever")
	}
}

// TestPinnedBatches: with a pinning thread the trainer waits in a futex, and the unnamed thread is found by what it
// does.
func TestPinnedBatches(t *testing.T) {
	m := newJob(t, 1)
	m.thread(100, 100, inTimedFutex, "futex_do_wait", 'S')
	m.thread(100, 110, inLock, "futex_do_wait", 'S')
	m.thread(100, 111, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
	w := m.watch()
	w.samples(10)
	b := w.book()
	b.want(t, loader100, map[metric.Desc]float64{metric.LoaderSamples: 10, metric.LoaderWaiting: 8})
	b.want(t, "pin/100.1000", map[metric.Desc]float64{metric.ThreadSamples: 7, metric.ThreadQueuePoll: 7})
	if len(b.events) != 1 || b.events[0] != "pin-thread pin/100.1000" {
		t.Errorf("events: %v", b.events)
	}
	if got := w.book().events; len(got) != 0 {
		t.Errorf("the thread was told twice: %v", got)
	}
}

// TestPrefetchedBatches: a thread of the job's own takes the batches. The main thread waits for it in a lock, and for
// data while that thread is not held up in a lock itself, as it is where the queue between them is full. Who reads
// takes the batches itself.
func TestPrefetchedBatches(t *testing.T) {
	for name, c := range map[string]struct {
		read  int64 // characters, by the main thread, between two searches
		taken float64
	}{"it takes none": {20, 1}, "it takes them itself": {440, 0}} {
		t.Run(name, func(t *testing.T) {
			m := newJob(t, 1)
			m.tree.Processes[slices.IndexFunc(m.tree.Processes, func(p job.Process) bool {
				return p.Role == job.Worker
			})].Named = true
			m.reads(100, 1e6)
			m.thread(100, 100, inLock, "futex_do_wait", 'S')
			m.thread(100, 110, inLock, "futex_do_wait", 'S')
			m.thread(100, 111, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
			w := m.watch()
			w.samples(100)
			m.reads(100, 1e6+c.read)
			w.samples(100)
			before := w.book()
			starved := before.last[metric.LoaderWaiting.Name+" "+loader100]
			if found := before.last[metric.ThreadSamples.Name+" taker/100.1000"] > 0; found != (c.taken > 0) ||
				found != (starved > 0) || len(before.events) > 0 {
				t.Fatalf("found: %v, starved in %v samples of 200; %v", found, starved, before.events)
			}
			m.thread(100, 111, inLock, "futex_do_wait", 'S') // it puts one into a full queue
			w.samples(20)
			m.thread(100, 111, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
			m.thread(100, 120, running, "0", 'R') // a backward pass, for which the main thread sleeps
			m.autograd(100, 120)
			w.samples(20)
			b := w.book()
			b.want(t, loader100, map[metric.Desc]float64{metric.LoaderSamples: 240, metric.LoaderWaiting: starved})
			m.autograd(100)
			// The main thread reads a batch after all: whoever polls meanwhile takes none.
			m.reads(100, 2e6)
			m.thread(100, 111, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
			w.samples(100)
			if after := w.book().last[metric.LoaderWaiting.Name+" "+loader100]; after > starved+25 {
				t.Errorf("waits in %v samples once it reads, after %v", after, starved)
			}
		})
	}
}

// TestBusyPinningThread has no time to poll, and is known by the sockets it receives tensors from: each time another. A
// socket that stays, as of a logger's service, is not of tensors.
func TestBusyPinningThread(t *testing.T) {
	for name, later := range map[string]struct {
		socket string
		pin    bool
	}{"one after the other": {"socket:[8]", true}, "always the same": {"socket:[7]", false}} {
		t.Run(name, func(t *testing.T) {
			m := newJob(t, 1)
			m.thread(100, 100, inTimedFutex, "futex_do_wait", 'S')
			m.thread(100, 111, inReadOf5, "unix_stream_read_generic", 'S')
			m.link(100, 5, "socket:[7]")
			w := m.watch()
			w.samples(10)
			m.link(100, 5, later.socket)
			w.samples(60)
			b := w.book()
			if found := len(b.events) == 1 && b.events[0] == "pin-thread pin/100.1000"; found != later.pin {
				t.Errorf("events: %v", b.events)
			}
			if later.pin && b.last[metric.ThreadPipeRead.Name+" pin/100.1000"] == 0 {
				t.Error("what it does is not recorded")
			}
		})
	}
}

// TestTimedFutexWithoutPinning is some other wait, not one for a batch.
func TestTimedFutexWithoutPinning(t *testing.T) {
	m := newJob(t, 1)
	m.thread(100, 100, inTimedFutex, "futex_do_wait", 'S')
	w := m.watch()
	w.samples(60)
	w.book().want(t, loader100, map[metric.Desc]float64{metric.LoaderSamples: 60, metric.LoaderWaiting: 0})
}
