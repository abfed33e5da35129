package sampler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/procfs/fakeroot"
)

// Lines of /proc/PID/syscall as real jobs show them.
const (
	inQueuePoll  = "7 0x7f05a4b0cbd0 0x1 0x1388 0x8 0x0 0x0 0x7ffd 0x7f05\n"
	inTimedFutex = "202 0x7f3c4c0013a0 0x89 0x0 0x7f3c57ffe8a0 0x0 0xffffffff 0x7f3c 0x7f3c\n"
	inLock       = "202 0x1b4e9f0 0x189 0x0 0x0 0x0 0xffffffff 0x7f3c 0x7f3c\n"
	inSharedLock = "202 0x7f20c8384000 0x109 0x0 0x0 0x0 0xffffffff 0x7ffd 0x7f20\n" // multiprocessing.Lock
	inReadOf5    = "0 0x5 0x7f 0x4 0x7f 0x0 0x0 0x7ffd 0x7f05\n"
	inSleep      = "230 0x1 0x1 0x7ffca45cdfe0 0x0 0x0 0x0 0x7ffca45cdfc8 0x7f7a\n"
	inFault      = "-1 0x7ffca45cdfc8 0x7f7a8ac67503\n"
	running      = "running\n"
)

// machine is a made-up /proc and the job in it.
type machine struct {
	fakeroot.Root
	tree *job.Tree
}

func (m *machine) Tree() *job.Tree { return m.tree }

func newMachine(t testing.TB) *machine {
	return &machine{fakeroot.New(t), &job.Tree{}}
}

// newJob is a machine with a trainer, 100, and workers of it from 101 on.
func newJob(t testing.TB, workers int) *machine {
	m := newMachine(t)
	m.process(100, job.Trainer, 0)
	for i := range workers {
		m.process(101+i, job.Worker, 100)
	}
	return m
}

func (m *machine) put(pid int, name, content string) {
	m.Put("proc/"+strconv.Itoa(pid)+"/"+name, content)
}

func (m *machine) link(pid, fd int, target string) {
	m.Link(fmt.Sprintf("proc/%d/fd/%d", pid, fd), target)
}

// stat is a stat file; the start is the pid times ten.
func stat(pid int, state byte) string {
	f := make([]string, 52)
	for i := range f {
		f[i] = "0"
	}
	f[0], f[1], f[2], f[21] = strconv.Itoa(pid), "(python3)", string(state), strconv.Itoa(pid*10)
	return strings.Join(f, " ") + "\n"
}

func (m *machine) thread(pid, tid int, syscall, wchan string, state byte) {
	task := "task/" + strconv.Itoa(tid) + "/"
	m.put(pid, task+"stat", stat(tid, state))
	m.put(pid, task+"syscall", syscall)
	m.put(pid, task+"wchan", wchan)
	if tid == pid {
		m.put(pid, "stat", stat(pid, state))
	}
}

// reads lets a main thread have read so much.
func (m *machine) reads(pid int, chars int64) {
	m.put(pid, fmt.Sprintf("task/%d/io", pid), fmt.Sprintf("rchar: %d\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\n"+
		"write_bytes: 0\ncancelled_write_bytes: 0\n", chars))
}

func (m *machine) writes(pid int, calls, chars int64) {
	m.put(pid, "io", fmt.Sprintf("rchar: 0\nwchar: %d\nsyscr: 0\nsyscw: %d\nread_bytes: 0\nwrite_bytes: "+
		"0\ncancelled_write_bytes: 0\n", chars, calls))
}

func id(pid int) procfs.ID { return procfs.ID{PID: pid, Start: uint64(pid * 10)} }

// process adds a process of the job, asleep in a queue poll.
func (m *machine) process(pid int, role job.Role, trainer int) {
	m.thread(pid, pid, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
	m.writes(pid, 0, 0)
	m.link(pid, 0, "/dev/null")
	p := job.Process{ID: id(pid), InnerPID: pid, Role: role}
	if role == job.Worker || role == job.Feeder {
		p.Trainer = id(trainer)
	}
	m.are(append(slices.Clone(m.tree.Processes), p))
}

func (m *machine) remove(pid int) {
	m.Remove("proc/" + strconv.Itoa(pid))
	m.hide(pid)
}

// watcher is a Loader driven by hand.
type watcher struct {
	*Loader
	now time.Duration
}

func (m *machine) watch() *watcher {
	w := &watcher{}
	w.Loader = newLoader(procfs.FS{Root: m.Dir}, m, func() time.Duration { return w.now }, rand.New(rand.NewPCG(1, 1)))
	w.scratch.calls = newCallTable("amd64")
	return w
}

func (w *watcher) samples(n int) {
	for range n {
		w.now += SampleInterval
		w.pass(w.now)
	}
}

func (w *watcher) book() *book {
	b := newBook()
	w.Sample(context.Background(), b)
	return b
}

const (
	loader100  = "loader/100.1000"
	trainer100 = "process/100.1000"
)

// want compares counters.
func (b *book) want(t *testing.T, entity string, want map[metric.Desc]float64) {
	t.Helper()
	for d, v := range want {
		if got := b.get(t, d, entity); got != v {
			t.Errorf("%s of %s: got %v, want %v", d.Name, entity, got, v)
		}
	}
}

// uptime sets the time since boot, in clock ticks.
func (m *machine) uptime(ticks int) {
	m.Put("proc/uptime", fmt.Sprintf("%d.%02d 0.00\n", ticks/100, ticks%100))
}

// hide takes a living process out of the tree, as a reading that failed does.
func (m *machine) hide(pid int) (back func()) {
	before := m.tree.Processes
	m.are(slices.DeleteFunc(slices.Clone(before), func(p job.Process) bool { return p.PID == pid }))
	return func() { m.are(before) }
}

// are sets who belongs to the job.
func (m *machine) are(processes []job.Process) {
	m.tree = &job.Tree{Processes: processes}
}
