package sampler

import (
	"strconv"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
)

const (
	feeders100 = "feeders/100.1000"
	thread110  = "thread/100.1000.110"

	inShortPoll = "7 0x7f05a4b0cbd0 0x1 0x14 0x8 0x0 0x0 0x7ffd 0x7f05\n"
	inEpoll     = "232 0x5 0x7f05a4b0cbd0 0x10 0xffffffff 0x0 0x0 0x7ffd 0x7f05\n"
)

// ran sets what a thread has used of a CPU so far.
func (m *machine) ran(pid, tid int, used time.Duration) {
	m.put(pid, "task/"+strconv.Itoa(tid)+"/schedstat", strconv.Itoa(int(used))+" 1000000 3\n")
}

// TestFeedersOfTrainerWithoutWorkers: a pool's process is sampled from its birth, a thread from when it was seen to
// use a CPU; the trainer waits for a batch where its main thread sleeps in a lock while one of them is at work.
func TestFeedersOfTrainerWithoutWorkers(t *testing.T) {
	m := newJob(t, 0)
	m.thread(100, 100, inLock, "futex_do_wait", 'S')
	m.process(101, job.Feeder, 100)
	m.thread(101, 101, running, "0", 'R')
	for _, tid := range []int{110, 111} {
		m.thread(100, tid, running, "0", 'R')
		m.ran(100, tid, 0)
	}
	w := m.watch()
	w.samples(60) // a second passes between two listings of the threads
	m.ran(100, 110, 500*time.Millisecond)
	m.ran(100, 111, time.Millisecond)
	w.samples(60)
	b := w.book()
	b.want(t, "process/101.1010", map[metric.Desc]float64{metric.ThreadSamples: 120, metric.ThreadRunning: 120,
		metric.FeederAtWork: 120})
	b.want(t, feeders100, map[metric.Desc]float64{metric.LoaderSamples: 120, metric.LoaderWaiting: 120,
		metric.LoaderIdleSum: 0})
	b.want(t, thread110, map[metric.Desc]float64{metric.ProcMainCPU: 0.5, metric.ProcRunDelay: 0.001})
	sampled := b.get(t, metric.ThreadSamples, thread110)
	if sampled < 10 || sampled > 60 {
		t.Errorf("%v samples of the thread", sampled)
	}
	if _, there := b.last[metric.ThreadSamples.Name+" thread/100.1000.111"]; there {
		t.Error("a thread that uses no CPU is sampled")
	}

	for _, c := range []struct {
		name, main, process, thread string
		waiting, idle, working      float64 // of ten samples; beside of the thread
	}{
		{"the step computes with the thread", running, inLock, running, 0, 10, 0},
		{"the step sleeps, a thread feeds", inSleep, inLock, running, 0, 10, 10},
		{"nobody is at work", inLock, inShortPoll, inLock, 0, 20, 0},
		{"a pool's helper polls", inLock, running, inShortPoll, 10, 10, 0},
		{"an event loop has nothing to do", inLock, running, inEpoll, 10, 10, 0},
		{"a queue is asked with a short time-out", inShortPoll, running, inLock, 10, 10, 0},
		{"the pool waits for storage", inTimedFutex, inFault, inSleep, 10, 10, 0},
	} {
		before := w.book()
		m.thread(100, 100, c.main, "0", 'S')
		m.thread(101, 101, c.process, "0", state(c.process))
		m.thread(100, 110, c.thread, "0", 'S')
		w.samples(10)
		after := w.book()
		for _, x := range []struct {
			d      metric.Desc
			entity string
			want   float64
		}{{metric.LoaderWaiting, feeders100, c.waiting}, {metric.LoaderIdleSum, feeders100, c.idle},
			{metric.FeederAtWork, thread110, c.working}} {
			if got := after.get(t, x.d, x.entity) - before.get(t, x.d, x.entity); got != x.want {
				t.Errorf("%s: %s of %s grew by %v, want %v", c.name, x.d.Name, x.entity, got, x.want)
			}
		}
	}

	// What the main thread polls beside them may bring a batch, or be the driver's, which wakes it when the device is
	// done.
	w.scratch.pollFD = func(int, uint64) (int, bool) { return 5, true }
	m.thread(100, 100, inShortPoll, "0", 'S')
	m.thread(101, 101, running, "0", 'R')
	for fd5, want := range map[string]float64{"pipe:[7]": 10, "anon_inode:[eventfd]": 10, "/dev/nvidia0": 0,
		"anon_inode:[timerfd]": 0} {
		m.link(100, 5, fd5)
		before := w.book()
		w.samples(10)
		if got := w.book().get(t, metric.LoaderWaiting, feeders100) - before.get(t, metric.LoaderWaiting,
			feeders100); got != want {
			t.Errorf("%v of 10 samples wait for a batch where %s is polled, want %v", got, fd5, want)
		}
	}
	m.thread(100, 100, inLock, "0", 'S')
	w.scratch.pollFD = nil

	// The process's other threads use a CPU while its main thread waits for them.
	var used time.Duration
	w.scratch.cpuTime = func(pid int) (time.Duration, bool) {
		used += time.Second
		return used, pid == 101
	}
	m.thread(101, 101, inLock, "0", 'S')
	before := w.book()
	w.samples(10)
	if got := w.book().get(t, metric.ThreadRunning, "process/101.1010") - before.get(t, metric.ThreadRunning,
		"process/101.1010"); got < 9 {
		t.Errorf("a process that computes in its threads was seen to run in %v of 10 samples", got)
	}
	m.thread(101, 101, inReceiveOf5, "wait_woken", 'S')
	m.link(101, 5, "socket:[77]")
	m.put(101, "net/tcp", heading+toStore)
	w.samples(10)
	b = w.book()
	if _, reported := b.last[metric.RemoteSamples.Name+" remote/100.1000.10.0.0.5:443"]; reported ||
		b.get(t, metric.ThreadRemote, "process/101.1010") != 0 {
		t.Error("a process that computes in its threads waits for a connection as well")
	}
	w.scratch.cpuTime = nil

	m.remove(101)
	w.samples(3)
	if got := len(w.trainers[0].feeders.members); got != 1 {
		t.Errorf("%d are sampled after the pool's end, want the thread", got)
	}
}

// TestThreadsOfAPoolFeedNobody: a thread that waits within OpenMP's library for its next loop is a part of the step,
// however long it spins after each; a lock that it waits for elsewhere may be a queue's.
func TestThreadsOfAPoolFeedNobody(t *testing.T) {
	const inPool, beside = "0x7f56bf41de8e", "0x7f56c013ff16"
	for pc, want := range map[string]int{inPool: 0, beside: 1} {
		m := newJob(t, 0)
		m.thread(100, 100, inLock, "futex_do_wait", 'S')
		m.put(100, "maps", "7f56bf400000-7f56bf437000 r-xp 00000000 fe:00 9 /usr/lib/libgomp.so.1\n"+
			"7f56c0100000-7f56c0200000 r-xp 00000000 fe:00 8 /usr/lib/libc.so.6\n")
		m.thread(100, 110, running, "0", 'R')
		m.ran(100, 110, 0)
		w := m.watch()
		w.samples(60)
		m.ran(100, 110, 500*time.Millisecond)
		for range 60 { // it is found running a few times first
			if w.samples(1); w.trainers[0].feeders.threads[110].busy == 3 {
				break
			}
		}
		m.thread(100, 110, "202 0x131304d4 0x80 0x2a80 0x0 0xca 0x2 0x7f568114de98 "+pc+"\n", "futex_do_wait", 'S')
		w.samples(60)
		if got := len(w.trainers[0].feeders.members); got != want {
			t.Errorf("%d threads are sampled that wait at %s, want %d", got, pc, want)
		}
	}
}

// TestNoFeedersBesideWorkers: a trainer with loader workers is fed by them.
func TestNoFeedersBesideWorkers(t *testing.T) {
	m := newJob(t, 1)
	m.process(102, job.Feeder, 100)
	w := m.watch()
	w.samples(10)
	if f := w.trainers[0].feeders; len(f.members) > 0 || f.joint.samples > 0 {
		t.Errorf("feeders beside workers: %+v", f)
	}
}

// state is the letter that goes with a line of /proc/PID/syscall.
func state(syscall string) byte {
	switch syscall {
	case running:
		return 'R'
	case inFault:
		return 'D'
	}
	return 'S'
}
