package sampler

import (
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
)

const autograd100 = "autograd/100.1000"

// found informs the job's tree of what was found out of a process.
func (m *machine) found(pid int, what func(*job.Process)) {
	processes := slices.Clone(m.tree.Processes)
	for i := range processes {
		if processes[i].PID == pid {
			what(&processes[i])
		}
	}
	m.are(processes)
}

// autograd informs the job's tree of a trainer's autograd threads.
func (m *machine) autograd(pid int, tids ...int) {
	m.found(pid, func(p *job.Process) { p.AutogradThreads = tids })
}

// TestBackwardInAnotherThread: the main thread sleeps in a lock while an autograd thread runs, which appears later
// than the watch begins.
func TestBackwardInAnotherThread(t *testing.T) {
	m := newJob(t, 0)
	m.thread(100, 100, running, "0", 'R')
	w := m.watch()
	w.samples(5) // forward
	w.book().want(t, trainer100, map[metric.Desc]float64{metric.ThreadRunning: 5, metric.ThreadHostRunning: 5})

	m.thread(100, 100, inLock, "futex_do_wait", 'S')
	m.thread(100, 110, running, "0", 'R')
	m.thread(100, 111, inLock, "futex_do_wait", 'S')
	m.autograd(100, 110, 111)
	w.samples(7) // backward
	m.thread(100, 110, inSleep, "hrtimer_nanosleep", 'S')
	w.samples(2)
	m.thread(100, 111, running, "0", 'R')
	w.samples(3) // on the second device
	b := w.book()
	b.want(t, trainer100, map[metric.Desc]float64{metric.ThreadSamples: 17, metric.ThreadRunning: 5,
		metric.ThreadFutex:       12,
		metric.ThreadHostRunning: 15})
	b.want(t, autograd100, map[metric.Desc]float64{metric.ThreadSamples: 12, metric.ThreadRunning: 10,
		metric.ThreadSleep: 2,
		metric.ThreadFutex: 0})

	m.thread(100, 110, inFault, "0", 'Z') // both end before the tree knows
	m.thread(100, 111, inFault, "0", 'Z')
	w.samples(4)
	b = w.book()
	b.want(t, trainer100, map[metric.Desc]float64{metric.ThreadSamples: 21, metric.ThreadHostRunning: 15})
	b.want(t, autograd100, map[metric.Desc]float64{metric.ThreadSamples: 12})
}

// TestGlobalLock: who sleeps in a futex within the static data of Python waits for its global lock, with a time-out or
// without, and for no batch, whoever pins batches. While a tensor is received that is part of taking it.
func TestGlobalLock(t *testing.T) {
	const wants, inQueue = "202 0xa5b8f4 0x89 0x0 0x7ffd 0x0 0x0 0x7ffd 0x7f05\n", inTimedFutex
	m := newJob(t, 1)
	m.thread(100, 100, wants, "futex_do_wait", 'S')
	m.thread(100, 111, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
	m.found(100, func(p *job.Process) { p.PinThread = 111 })
	w := m.watch()
	w.samples(5)
	if _, told := w.book().last[metric.ThreadGIL.Name+" "+trainer100]; told {
		t.Error("told, where the static data of Python are not known")
	}
	m.found(100, func(p *job.Process) { p.Python = procfs.Statics{{From: 0xa5b000, To: 0xaca000}} })
	w.samples(10)
	m.thread(100, 100, inQueue, "futex_do_wait", 'S')
	w.samples(3)
	b := w.book()
	b.want(t, trainer100, map[metric.Desc]float64{metric.ThreadGIL: 10, metric.ThreadFutexTimed: 8,
		metric.ThreadHostRunning: 10, metric.ThreadGILReceiving: 0})
	b.want(t, loader100, map[metric.Desc]float64{metric.LoaderSamples: 18, metric.LoaderWaiting: 8})
}

// TestWaitsThatAreForNoBatch: a trainer's main thread polls a socket for seconds where it uploads a checkpoint, and
// receives what is no tensor; a worker that does so is not distinguished.
func TestWaitsThatAreForNoBatch(t *testing.T) {
	const inReceiveOf5 = "47 0x5 0x7f 0x0 0x7f 0x0 0x0 0x7ffd 0x7f05\n"
	for _, c := range []struct {
		name, syscall, wchan, fd5 string
		want                      metric.Desc
	}{
		{"the queue", inQueuePoll, "poll_schedule_timeout", "pipe:[7]", metric.ThreadQueuePoll},
		{"an upload", inQueuePoll, "poll_schedule_timeout", "socket:[7]", metric.ThreadOther},
		{"a file's events", inQueuePoll, "poll_schedule_timeout", "anon_inode:inotify", metric.ThreadOther},
		{"the device", inQueuePoll, "poll_schedule_timeout", "/dev/nvidia0", metric.ThreadDevice},
		{"a number closed since", inQueuePoll, "poll_schedule_timeout", "", metric.ThreadQueuePoll},
		{"a tensor", inReceiveOf5, "__skb_wait_for_more_packets", "socket:[7]", metric.ThreadPipeRead},
		{"a tensor, function hidden", inReceiveOf5, "0", "socket:[7]", metric.ThreadPipeRead},
		{"a server's answer", inReceiveOf5, "sk_wait_data", "socket:[7]", metric.ThreadOther},
		{"a server's answer, read", inReadOf5, "wait_woken", "socket:[7]", metric.ThreadOther},
		{"a worker's proof, read", inReadOf5, "unix_stream_read_generic", "socket:[7]", metric.ThreadPipeRead},
	} {
		m := newJob(t, 1)
		m.thread(100, 100, c.syscall, c.wchan, 'S')
		m.thread(101, 101, c.syscall, c.wchan, 'S')
		m.link(100, 5, c.fd5)
		m.link(101, 5, c.fd5)
		w := m.watch()
		w.scratch.pollFD = func(tid int, ufds uint64) (int, bool) { return 5, tid == 100 && ufds == 0x7f05a4b0cbd0 }
		w.samples(4)
		b := w.book()
		if got := b.get(t, c.want, trainer100); got != 4 {
			t.Errorf("%s: %v of 4 samples in %s: %v", c.name, got, c.want.Name, b.last)
		}
		if got := b.get(t, metric.ThreadOther, "process/101.1010"); got != 0 {
			t.Errorf("%s, of a worker: %v", c.name, b.last)
		}
	}
}
