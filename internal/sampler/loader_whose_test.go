package sampler

import (
	"fmt"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
)

// piped lets processes hold pipes, by their inodes' numbers, at descriptors of the same numbers.
func (m *machine) piped(pid int, numbers ...int) {
	for _, n := range numbers {
		m.link(pid, n, fmt.Sprintf("pipe:[%d]", n))
	}
}

// worker adds a worker that brings pipes from one number on, the queue of results first where it is a loader's first,
// and holds older ones.
func (m *machine) worker(pid, from, brings int, older ...int) {
	for n := range brings {
		m.piped(100, from+n)
		m.piped(pid, from+n)
	}
	m.piped(pid, older...)
	m.piped(pid, 90000+pid) // of its own, as of a program that it runs
	m.process(pid, job.Worker, 100)
}

// twoForked is a trainer with two loaders of two workers each, all forked.
func twoForked(t *testing.T) *machine {
	m := newJob(t, 0)
	m.worker(101, 11, 4)
	m.worker(102, 21, 3, 11, 12, 13, 14)
	m.worker(103, 31, 4, 11, 12, 13, 14, 21, 22, 23)
	m.worker(104, 41, 3, 11, 12, 13, 14, 21, 22, 23, 31, 32, 33, 34)
	return m
}

// TestWaitBehindAThread: which loader a trainer waits for behind the thread that pins its batches, the one tells that
// alone has workers at work.
func TestWaitBehindAThread(t *testing.T) {
	for name, c := range map[string]struct {
		atWork      []int
		first, both float64 // waits for the first one's batches, and by its counts
	}{
		"the first": {[]int{101, 102}, 10, 10}, "the second": {[]int{103}, 0, 0}, "both": {[]int{101, 103}, 0, 10},
	} {
		m := twoForked(t)
		m.thread(100, 100, inTimedFutex, "futex_do_wait", 'S')
		m.thread(100, 150, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
		for i := range m.tree.Processes {
			if m.tree.Processes[i].Role == job.Trainer {
				m.tree.Processes[i].PinThread = 150
			}
		}
		for _, pid := range c.atWork {
			m.thread(pid, pid, running, "0", 'R')
		}
		w := m.watch()
		w.samples(10)
		b := w.book()
		alive := 2 * c.both
		b.want(t, loader100, map[metric.Desc]float64{metric.LoaderWaiting: 10, metric.LoaderWaitsHere: c.first,
			metric.LoaderWaitAlive: alive})
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

const second100 = loader100 + ".1"

// TestLoadersAreToldApart: each loader of a trainer has counts of its own, and a wait for one is none for the other.
func TestLoadersAreToldApart(t *testing.T) {
	for name, made := range map[string]func(t *testing.T) *machine{
		"forked": twoForked,
		"spawned, the second of a loader first": func(t *testing.T) *machine {
			m := newJob(t, 0)
			m.worker(101, 11, 4)
			m.worker(103, 31, 4)
			m.worker(102, 21, 3, 11)
			m.worker(104, 41, 3, 31)
			return m
		},
		"of a forkserver, whose own two all hold": func(t *testing.T) *machine {
			m := newJob(t, 0)
			m.piped(100, 1, 2)
			m.worker(101, 11, 3, 1, 2)
			m.worker(102, 21, 2, 11, 1, 2)
			m.worker(103, 31, 3, 1, 2)
			m.worker(104, 41, 2, 31, 1, 2)
			for i := range m.tree.Processes {
				m.tree.Processes[i].Method = job.Forkserver
			}
			return m
		},
	} {
		m := made(t)
		m.thread(103, 103, running, "0", 'R')
		m.thread(104, 104, running, "0", 'R')
		w := m.watch()
		w.scratch.pollFD = func(int, uint64) (int, bool) { return 31, true } // the second one's results
		w.samples(10)
		b := w.book()
		b.want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 2, metric.LoaderSamples: 10,
			metric.LoaderIdleSum: 20, metric.LoaderAliveSum: 20, metric.LoaderWaitAlive: 0, metric.LoaderAhead: 10,
			metric.LoaderWaiting: 10, metric.LoaderWaitsHere: 0})
		b.want(t, second100, map[metric.Desc]float64{metric.LoaderWorkers: 2, metric.LoaderSamples: 10,
			metric.LoaderIdleSum: 0, metric.LoaderAliveSum: 20, metric.LoaderWaitAlive: 20, metric.LoaderAhead: 0,
			metric.LoaderWaiting: 10, metric.LoaderWaitsHere: 10})
		for pid, told := range map[int]bool{101: false, 102: false, 103: true, 104: true} {
			if got := b.loaders[job.Entity(id(pid))] == "1"; got != told {
				t.Errorf("%s: worker %d is told to be of another loader: %v, want %v", name, pid, got, told)
			}
		}
	}
}

// TestNextSetTakesTheLastOnesPlace: of two loaders that are gone over together the first ends with its last batch, and
// the second is let go of only when its next iterator is there.
func TestNextSetTakesTheLastOnesPlace(t *testing.T) {
	m := twoForked(t)
	w := m.watch()
	w.samples(100)
	m.remove(101)
	m.remove(102)
	w.samples(1)
	m.worker(105, 51, 4, 31, 32, 33, 34, 41, 42, 43)
	m.worker(106, 61, 4, 31, 32, 33, 34, 41, 42, 43, 51, 52, 53, 54)
	w.samples(5)
	w.book().want(t, "loader/100.1000.2", map[metric.Desc]float64{metric.LoaderWorkers: 1})
	m.remove(103)
	m.remove(104)
	w.samples(1)
	b := w.book()
	for entity, workers := range map[string]float64{loader100: 1, second100: 1, "loader/100.1000.2": 0} {
		b.want(t, entity, map[metric.Desc]float64{metric.LoaderWorkers: workers})
	}
	if got := b.loaders[job.Entity(id(106))]; got != "1" {
		t.Errorf("the second one's next worker is of %q", got)
	}
}

// TestShortEpochs end before the second loader could have taken the first one's place by mistake.
func TestShortEpochs(t *testing.T) {
	m := newJob(t, 0)
	w := m.watch()
	w.samples(50)
	m.worker(101, 11, 4)
	w.samples(1)
	m.worker(103, 31, 4, 11, 12, 13, 14)
	w.samples(20)
	m.remove(101)
	w.samples(1)
	b := w.book()
	b.want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 0})
	b.want(t, second100, map[metric.Desc]float64{metric.LoaderWorkers: 1})
}

// TestEvaluationWithinAnEpoch has a loader of its own, which ends before that of the epoch does.
func TestEvaluationWithinAnEpoch(t *testing.T) {
	m := newJob(t, 0)
	m.worker(101, 11, 4)
	w := m.watch()
	w.samples(100)
	for i := range 2 {
		m.worker(103, 31+10*i, 4, 11, 12, 13, 14)
		w.samples(10)
		w.book().want(t, second100, map[metric.Desc]float64{metric.LoaderWorkers: 1})
		m.remove(103)
		w.samples(10)
		b := w.book()
		b.want(t, second100, map[metric.Desc]float64{metric.LoaderWorkers: 0})
		b.want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 1})
	}
	if got := len(w.trainers[0].loaders); got != 2 {
		t.Errorf("%d loaders", got)
	}
	// What the trainer still holds of a set that has ended is inherited, and makes no loader.
	m.worker(102, 61, 3, 11, 12, 13, 14, 31, 32, 33, 34, 41, 42, 43, 44)
	w.samples(1)
	w.book().want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 2})
}

// TestPipesThatAreNotKnown leave one loader: where a trainer holds too many descriptors, or workers none of its pipes.
func TestPipesThatAreNotKnown(t *testing.T) {
	many := twoForked(t)
	for n := range pipesListed {
		many.link(100, 1000+n, "/dev/null")
	}
	for name, m := range map[string]*machine{"too many": many, "none": newJob(t, 4)} {
		w := m.watch()
		w.now = time.Hour
		w.samples(2)
		w.book().want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 4})
		if got := len(w.trainers[0].loaders); got != 1 {
			t.Errorf("%s: %d loaders", name, got)
		}
	}
}
