package sampler

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
)

// TestZombieIsNotAdoptedAgain: a sample finds the end of a worker before the tree knows. It is listed until its trainer
// collects it, also when another's birth changes the tree meanwhile. Taken for a new one, its counters would run
// backwards.
func TestZombieIsNotAdoptedAgain(t *testing.T) {
	m := newJob(t, 1)
	w := m.watch()
	w.samples(5)
	m.thread(101, 101, inFault, "0", 'Z')
	w.samples(3)
	b := w.book()
	b.want(t, "process/101.1010", map[metric.Desc]float64{metric.ThreadSamples: 5})
	b.want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 0, metric.LoaderSamples: 5,
		metric.LoaderNoWorkers: 3})
	m.process(102, job.Worker, 100)
	w.samples(2)
	b = w.book()
	if v, again := b.last[metric.ThreadSamples.Name+" process/101.1010"]; again {
		t.Errorf("the zombie is told of again, with %v samples", v)
	}
	b.want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 1})
	m.remove(101)
	w.samples(1)
	if left := w.trainers[0].left; len(left) != 0 {
		t.Errorf("%v is remembered for ever", left)
	}
}

// TestTrainerThatEnds hands its counts over once more and is then forgotten.
func TestTrainerThatEnds(t *testing.T) {
	m := newJob(t, 1)
	w := m.watch()
	w.samples(5)
	m.remove(101)
	m.remove(100)
	w.samples(5)
	b := w.book()
	b.want(t, trainer100, map[metric.Desc]float64{metric.ThreadSamples: 5})
	b.want(t, loader100, map[metric.Desc]float64{metric.LoaderSamples: 5})
	if got := w.book(); len(got.last) != 0 {
		t.Errorf("a trainer that is gone is still recorded: %v", got.names())
	}
}

// TestReusedNumberIsAnotherProcess: what the number's next owner does is credited to nobody.
func TestReusedNumberIsAnotherProcess(t *testing.T) {
	m := newJob(t, 1)
	m.put(101, "stat", strings.Replace(stat(101, 'S'), "1010", "9999", 1))
	w := m.watch()
	w.samples(5)
	w.book().want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 0})
}

// TestLocksBetweenProcesses: a lock that processes share is distinguished from one among a worker's own threads.
func TestLocksBetweenProcesses(t *testing.T) {
	m := newJob(t, 2)
	m.thread(101, 101, inLock, "futex_do_wait", 'S')
	m.thread(102, 102, inSharedLock, "futex_do_wait", 'S')
	w := m.watch()
	w.samples(10)
	b := w.book()
	b.want(t, "process/101.1010", map[metric.Desc]float64{metric.ThreadFutex: 10, metric.ThreadSharedFutex: 0})
	b.want(t, "process/102.1020", map[metric.Desc]float64{metric.ThreadFutex: 10, metric.ThreadSharedFutex: 10})
}

// TestManyWorkersShareABudget: of sixteen workers each is sampled in every fourth pass, all at once, and what is
// reported of them and their trainer together weighs as much as if all passes had sampled them.
func TestManyWorkersShareABudget(t *testing.T) {
	m := newJob(t, 16)
	for pid := 105; pid <= 116; pid++ {
		m.thread(pid, pid, running, "0", 'R')
	}
	w := m.watch()
	w.samples(40) // starved, four workers idle
	m.thread(100, 100, running, "0", 'R')
	w.samples(40)
	b := w.book()
	b.want(t, loader100, map[metric.Desc]float64{
		metric.LoaderWorkers: 16, metric.LoaderSamples: 80, metric.LoaderWaiting: 40, metric.LoaderAliveSum: 80 * 16,
		metric.LoaderIdleSum: 80 * 4, metric.LoaderWaitIdle: 40 * 4, metric.LoaderWaitAlive: 40 * 16,
		metric.LoaderBlocked: 40, metric.LoaderAhead: 0, metric.LoaderNoWorkers: 0,
	})
	b.want(t, trainer100, map[metric.Desc]float64{metric.ThreadSamples: 80})
	b.want(t, "process/104.1040", map[metric.Desc]float64{metric.ThreadSamples: 20, metric.ThreadQueuePoll: 20})
	b.want(t, "process/116.1160", map[metric.Desc]float64{metric.ThreadSamples: 20, metric.ThreadRunning: 20})
	reported := 0
	for name := range w.book().last { // half of them at a time, from the second telling on
		if strings.HasPrefix(name, metric.ThreadSamples.Name+" process/1") && name != metric.ThreadSamples.Name+" "+
			trainer100 {
			reported++
		}
	}
	if reported != 8 {
		t.Errorf("%d of 16 workers are told of", reported)
	}
}
