package sampler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
)

// Lines of /proc/PID/syscall as real jobs show them.
const (
	inQueuePoll  = "7 0x7f05a4b0cbd0 0x1 0x1388 0x8 0x0 0x0 0x7ffd 0x7f05\n"
	inTimedFutex = "202 0x7f3c4c0013a0 0x89 0x0 0x7f3c57ffe8a0 0x0 0xffffffff 0x7f3c 0x7f3c\n"
	inLock       = "202 0x1b4e9f0 0x189 0x0 0x0 0x0 0xffffffff 0x7f3c 0x7f3c\n"
	inReadOf5    = "0 0x5 0x7f 0x4 0x7f 0x0 0x0 0x7ffd 0x7f05\n"
	inSleep      = "230 0x1 0x1 0x7ffca45cdfe0 0x0 0x0 0x0 0x7ffca45cdfc8 0x7f7a\n"
	inFault      = "-1 0x7ffca45cdfc8 0x7f7a8ac67503\n"
	running      = "running\n"
)

// machine is a made-up /proc and the job in it.
type machine struct {
	t    testing.TB
	root string
	tree *job.Tree
}

func (m *machine) Tree() *job.Tree { return m.tree }

func newMachine(t testing.TB) *machine {
	return &machine{t: t, root: t.TempDir(), tree: &job.Tree{}}
}

func (m *machine) put(pid int, name, content string) {
	m.t.Helper()
	path := filepath.Join(m.root, "proc", strconv.Itoa(pid), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) link(pid, fd int, target string) {
	m.t.Helper()
	path := filepath.Join(m.root, "proc", strconv.Itoa(pid), "fd", strconv.Itoa(fd))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	_ = os.Remove(path)
	if target == "" {
		return
	}
	if err := os.Symlink(target, path); err != nil {
		m.t.Fatal(err)
	}
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

func (m *machine) writes(pid int, calls, chars int64) {
	m.put(pid, "io", fmt.Sprintf("rchar: 0\nwchar: %d\nsyscr: 0\nsyscw: %d\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n", chars, calls))
}

func id(pid int) procfs.ID { return procfs.ID{PID: pid, Start: uint64(pid * 10)} }

// process adds a process of the job, asleep in a queue poll.
func (m *machine) process(pid int, role job.Role, trainer int) {
	m.thread(pid, pid, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
	m.writes(pid, 0, 0)
	m.link(pid, 0, "/dev/null")
	p := job.Process{ID: id(pid), InnerPID: pid, Role: role}
	if role == job.Worker {
		p.Trainer = id(trainer)
	}
	t := *m.tree
	t.Processes = append(append([]job.Process{}, t.Processes...), p)
	t.Generation++
	m.tree = &t
}

func (m *machine) remove(pid int) {
	if err := os.RemoveAll(filepath.Join(m.root, "proc", strconv.Itoa(pid))); err != nil {
		m.t.Fatal(err)
	}
	t := job.Tree{Generation: m.tree.Generation + 1}
	for _, p := range m.tree.Processes {
		if p.PID != pid {
			t.Processes = append(t.Processes, p)
		}
	}
	m.tree = &t
}

// watcher is a Loader driven by hand.
type watcher struct {
	*Loader
	now time.Duration
}

func (m *machine) watch() *watcher {
	w := &watcher{}
	w.Loader = newLoader(procfs.FS{Root: m.root}, m, func() time.Duration { return w.now }, rand.New(rand.NewPCG(1, 1)))
	w.kit.calls = newCallTable("amd64")
	return w
}

func (w *watcher) looks(n int) {
	for range n {
		w.now += LookInterval
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

// TestJointLooks walks a loader of two workers through its states: starved, a slow sample in front, ahead, restarting.
func TestJointLooks(t *testing.T) {
	m := newMachine(t)
	m.process(100, job.Trainer, 0)
	m.process(101, job.Worker, 100)
	m.process(102, job.Worker, 100)
	w := m.watch()
	defer w.Close()

	m.thread(101, 101, running, "0", 'R')
	m.thread(102, 102, running, "0", 'R')
	w.looks(10) // starved
	m.thread(101, 101, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
	w.looks(5) // head of line
	m.thread(102, 102, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
	m.thread(100, 100, running, "0", 'R')
	w.looks(20) // ahead
	b := w.book()
	b.want(t, loader100, map[metric.Desc]float64{
		metric.LoaderWorkers: 2, metric.LoaderLooks: 35, metric.LoaderWaiting: 15, metric.LoaderAliveSum: 70, metric.LoaderIdleSum: 45,
		metric.LoaderWaitIdle: 5, metric.LoaderWaitAlive: 30, metric.LoaderBlocked: 5, metric.LoaderAhead: 20, metric.LoaderNoWorkers: 0,
	})
	b.want(t, trainer100, map[metric.Desc]float64{metric.LooksTotal: 35, metric.LooksQueuePoll: 15, metric.LooksRunning: 20})
	b.want(t, "process/101.1010", map[metric.Desc]float64{metric.LooksTotal: 35, metric.LooksQueuePoll: 25, metric.LooksRunning: 10})

	m.remove(101)
	m.remove(102)
	w.looks(7)
	m.process(103, job.Worker, 100)
	w.looks(1)
	b = w.book()
	b.want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 1, metric.LoaderLooks: 36, metric.LoaderNoWorkers: 7})
	b.want(t, "process/101.1010", map[metric.Desc]float64{metric.LooksTotal: 35})
	if _, still := w.book().last[metric.LooksTotal.Name+" process/101.1010"]; still {
		t.Error("a worker that is gone is recorded for ever")
	}
}

// TestWorkerGoneBeforeTheTreeKnows: a look finds the end of a worker first.
func TestWorkerGoneBeforeTheTreeKnows(t *testing.T) {
	m := newMachine(t)
	m.process(100, job.Trainer, 0)
	m.process(101, job.Worker, 100)
	w := m.watch()
	defer w.Close()
	w.looks(1)
	m.thread(101, 101, inFault, "0", 'Z')
	w.looks(3)
	w.book().want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 0, metric.LoaderLooks: 1, metric.LoaderNoWorkers: 3})
}

// TestZombieIsNotAdoptedAgain: a worker that has ended is listed until its trainer collects it, also when another's birth changes the tree
// meanwhile. Taken for a new one, its counters would run backwards.
func TestZombieIsNotAdoptedAgain(t *testing.T) {
	m := newMachine(t)
	m.process(100, job.Trainer, 0)
	m.process(101, job.Worker, 100)
	w := m.watch()
	defer w.Close()
	w.looks(5)
	m.thread(101, 101, inFault, "0", 'Z')
	w.looks(1)
	w.book().want(t, "process/101.1010", map[metric.Desc]float64{metric.LooksTotal: 5})
	m.process(102, job.Worker, 100)
	w.looks(2)
	b := w.book()
	if v, again := b.last[metric.LooksTotal.Name+" process/101.1010"]; again {
		t.Errorf("the zombie is told of again, with %v looks", v)
	}
	b.want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 1})
	m.remove(101)
	w.looks(1)
	if left := w.trainers[0].left; len(left) != 0 {
		t.Errorf("%v is remembered for ever", left)
	}
}

// TestPinnedBatches: with a pinning thread the trainer waits in a futex, and the unnamed thread is found by what it does.
func TestPinnedBatches(t *testing.T) {
	m := newMachine(t)
	m.process(100, job.Trainer, 0)
	m.process(101, job.Worker, 100)
	m.thread(100, 100, inTimedFutex, "futex_do_wait", 'S')
	m.thread(100, 110, inLock, "futex_do_wait", 'S')
	m.thread(100, 111, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
	w := m.watch()
	defer w.Close()
	w.looks(10)
	b := w.book()
	b.want(t, loader100, map[metric.Desc]float64{metric.LoaderLooks: 10, metric.LoaderWaiting: 8})
	b.want(t, "pin/100.1000", map[metric.Desc]float64{metric.LooksTotal: 7, metric.LooksQueuePoll: 7})
	if len(b.events) != 1 || b.events[0] != "pin-thread pin/100.1000" {
		t.Errorf("events: %v", b.events)
	}
	if got := w.book().events; len(got) != 0 {
		t.Errorf("the thread was told twice: %v", got)
	}
}

// TestTimedFutexWithoutPinning is some other wait, not one for a batch.
func TestTimedFutexWithoutPinning(t *testing.T) {
	m := newMachine(t)
	m.process(100, job.Trainer, 0)
	m.process(101, job.Worker, 100)
	m.thread(100, 100, inTimedFutex, "futex_do_wait", 'S')
	w := m.watch()
	defer w.Close()
	w.looks(60)
	w.book().want(t, loader100, map[metric.Desc]float64{metric.LoaderLooks: 60, metric.LoaderWaiting: 0})
}

// TestStatesThatSystemCallsHide holds what only the state letter and the kernel function tell.
func TestStatesThatSystemCallsHide(t *testing.T) {
	for _, c := range []struct {
		name, syscall, wchan string
		state                byte
		fd5                  string
		want                 metric.Desc
	}{
		{"page fault", inFault, "folio_wait_bit_common", 'D', "", metric.LooksDisk},
		{"fault on a FUSE file", inFault, "request_wait_answer", 'S', "", metric.LooksFileRead},
		{"waiting for its memory map", inFault, "rwsem_down_read_slowpath", 'D', "", metric.LooksFutex},
		{"read of a cold file", inReadOf5, "folio_wait_bit_common", 'D', "/data/a.h5", metric.LooksDisk},
		{"read of a FUSE file", inReadOf5, "request_wait_answer", 'S', "/mnt/a.h5", metric.LooksFileRead},
		{"read of a pipe", inReadOf5, "anon_pipe_read", 'S', "pipe:[7]", metric.LooksPipeRead},
		{"read of a socket", inReadOf5, "unix_stream_read_generic", 'S', "socket:[7]", metric.LooksPipeRead},
		{"read of a terminal", inReadOf5, "n_tty_read", 'S', "/dev/pts/0", metric.LooksOther},
		{"read of a closed number", inReadOf5, "anon_pipe_read", 'S', "", metric.LooksPipeRead},
		{"read, ready again", inReadOf5, "0", 'R', "pipe:[7]", metric.LooksRunning},
		{"ioctl of a GPU", "16 0x5 0xc0 0x7f 0x0 0x0 0x0 0x7ffd 0x7f05\n", "nv_wait", 'S', "/dev/nvidia0", metric.LooksDevice},
		{"vfork", "58 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffd 0x7f05\n", "kernel_clone", 'D', "", metric.LooksChild},
		{"stopped while computing", inFault, "do_signal_stop", 'T', "", metric.LooksStopped},
	} {
		m := newMachine(t)
		m.process(100, job.Trainer, 0)
		m.thread(100, 100, c.syscall, c.wchan, c.state)
		m.link(100, 5, c.fd5)
		w := m.watch()
		w.looks(4)
		b := w.book()
		if got := b.get(t, c.want, trainer100); got != 4 {
			t.Errorf("%s: %v of 4 looks in %s: %v", c.name, got, c.want.Name, b.last)
		}
		w.Close()
	}
}

// TestStoppedInPoll: a worker stopped or frozen while it waits for work keeps showing the poll.
func TestStoppedInPoll(t *testing.T) {
	for _, c := range []struct {
		name, wchan string
		state       byte
	}{{"SIGSTOP", "do_signal_stop", 'T'}, {"cgroup v1 freezer", "__refrigerator", 'D'}, {"cgroup v2 freezer", "get_signal", 'S'}} {
		m := newMachine(t)
		m.process(100, job.Trainer, 0)
		m.process(101, job.Worker, 100)
		w := m.watch()
		w.looks(stopCheckEvery)
		m.thread(101, 101, inQueuePoll, c.wchan, c.state)
		w.looks(3 * stopCheckEvery)
		m.thread(101, 101, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
		w.looks(stopCheckEvery)
		got := w.book().get(t, metric.LooksStopped, "process/101.1010")
		if got < 2*stopCheckEvery || got > 3*stopCheckEvery {
			t.Errorf("%s: %v of %d looks found it stopped", c.name, got, 3*stopCheckEvery)
		}
		w.Close()
	}
}

// TestRefusedSystemCalls: where another user's files are refused, the state and the kernel function still tell most, and the cure is
// named.
func TestRefusedSystemCalls(t *testing.T) {
	if os.Getuid() == 0 {
		// Root reads every file: a directory in its place is refused to root as well, with another error, so the kernel without the
		// file is played instead.
		m := newMachine(t)
		m.process(100, job.Trainer, 0)
		m.process(101, job.Worker, 100)
		for _, pid := range []int{100, 101} {
			if err := os.Remove(filepath.Join(m.root, "proc", strconv.Itoa(pid), "task", strconv.Itoa(pid), "syscall")); err != nil {
				t.Fatal(err)
			}
		}
		refused(t, m, "")
		return
	}
	m := newMachine(t)
	m.process(100, job.Trainer, 0)
	m.process(101, job.Worker, 100)
	for _, pid := range []int{100, 101} {
		if err := os.Chmod(filepath.Join(m.root, "proc", strconv.Itoa(pid), "task", strconv.Itoa(pid), "syscall"), 0); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, m, "run pipetune as the user of the job, or as root")
}

func refused(t *testing.T, m *machine, cure string) {
	t.Helper()
	w := m.watch()
	defer w.Close()
	w.looks(10)
	b := w.book()
	b.want(t, loader100, map[metric.Desc]float64{metric.LoaderLooks: 10, metric.LoaderWaiting: 10, metric.LoaderIdleSum: 10})
	if len(b.unseen) != 2 || b.unseen[0].signal != "looks_*" || b.unseen[0].entity != trainer100 || b.unseen[0].cure != cure {
		t.Errorf("notes: %+v", b.unseen)
	}
}

// TestBlindCures names the cure for each setting of Yama.
func TestBlindCures(t *testing.T) {
	for scope, want := range map[string]string{"1\n": "kernel.yama.ptrace_scope=0; or start", "2\n": "as root", "3\n": "boot with", "": "as the user"} {
		m := newMachine(t)
		if scope != "" {
			dir := filepath.Join(m.root, "proc/sys/kernel/yama")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "ptrace_scope"), []byte(scope), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := m.watch().blindCure(os.ErrPermission); !strings.Contains(got, want) {
			t.Errorf("scope %q: %q", scope, got)
		}
	}
}

// TestTensorsOfALoader drives a starved loader of three tensors per batch and reads its batches off the names.
func TestTensorsOfALoader(t *testing.T) {
	m := newMachine(t)
	m.process(100, job.Trainer, 0)
	m.process(101, job.Worker, 100)
	m.process(102, job.Worker, 100)
	w := m.watch()
	defer w.Close()
	w.looks(1)
	for batch := range 400 {
		for _, pid := range []int{101, 102} {
			for k := range 3 {
				m.link(pid, 20+k, fmt.Sprintf("/dev/shm/torch_%d_%d_%d (deleted)", pid, batch*7+k, batch*3+k))
			}
			m.writes(pid, int64(batch*13), int64(batch*900))
		}
		w.looks(3)
		if batch%4 == 0 {
			w.book()
		}
	}
	b := w.book()
	b.want(t, loader100, map[metric.Desc]float64{metric.LoaderTensorsPer: 3, metric.LoaderQueued: 6})
	// 800 batches, less the few of before the first listing.
	if got := b.get(t, metric.LoaderBatches, loader100); got < 780 || got > 800 {
		t.Errorf("%v batches were counted of 800", got)
	}
	if got := b.get(t, metric.LoaderTensors, loader100); got < 2340 || got > 2400 {
		t.Errorf("%v tensors were counted of 2400", got)
	}
}

// uptime sets the time since boot, in clock ticks.
func (m *machine) uptime(ticks int) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.root, "proc", "uptime"), fmt.Appendf(nil, "%d.%02d 0.00\n", ticks/100, ticks%100), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// hide takes a living process out of the tree, as a reading that failed does.
func (m *machine) hide(pid int) (back func()) {
	before := m.tree.Processes
	t := job.Tree{Generation: m.tree.Generation + 1}
	for _, p := range before {
		if p.PID != pid {
			t.Processes = append(t.Processes, p)
		}
	}
	m.tree = &t
	return func() { m.tree = &job.Tree{Generation: m.tree.Generation + 1, Processes: before} }
}

// TestOldWorkersAreNotNewborn: a worker that is recognised late, or lost and found again, had handed over batches before the watch, and
// those do not count.
func TestOldWorkersAreNotNewborn(t *testing.T) {
	const before = 5000 // batches each worker had handed over when the watch began
	for name, unseen := range map[string]struct{ from, to int }{
		"seen throughout":       {0, 0},
		"recognised late":       {0, 40},
		"lost and found again":  {200, 240},
		"lost for half a watch": {100, 300},
	} {
		m := newMachine(t)
		m.process(100, job.Trainer, 0)
		m.process(101, job.Worker, 100)
		m.process(102, job.Worker, 100)
		m.uptime(1500)
		var back func()
		if unseen.to > 0 && unseen.from == 0 {
			back = m.hide(102)
		}
		w := m.watch()
		defer w.Close()
		w.looks(1)
		missing := 0
		for batch := range 400 {
			if unseen.to > 0 && batch == unseen.from && back == nil {
				back = m.hide(102)
			}
			if back != nil && batch == unseen.to {
				back()
			}
			if batch >= unseen.from && batch < unseen.to {
				missing++
			}
			for _, pid := range []int{101, 102} {
				for k := range 2 {
					m.link(pid, 20+k, fmt.Sprintf("/dev/shm/torch_%d_%d_%d (deleted)", pid, batch*7+k, (before+batch)*2+k))
				}
				m.writes(pid, int64((before+batch)*9), int64((before+batch)*900))
			}
			w.looks(3)
			if batch%4 == 0 {
				w.book()
			}
		}
		b := w.book()
		b.want(t, loader100, map[metric.Desc]float64{metric.LoaderTensorsPer: 2})
		least := 800.0 - 20
		if unseen.from == 0 {
			least -= float64(missing)
		}
		if got := b.get(t, metric.LoaderBatches, loader100); got < least || got > 800 {
			t.Errorf("%s: %v batches were counted, want %v to 800", name, got, least)
		}
	}
}

// TestLoaderNotInUse: the persistent workers of a validation loader do not make the training loader look idle.
func TestLoaderNotInUse(t *testing.T) {
	m := newMachine(t)
	m.process(100, job.Trainer, 0)
	m.process(101, job.Worker, 100) // trains
	m.process(102, job.Worker, 100) // validates
	w := m.watch()
	defer w.Close()
	m.thread(101, 101, running, "0", 'R')
	for i := range 2 * restSamples {
		m.writes(101, int64(5*i), 300)
		w.looks(2 * accountEvery)
		w.book()
	}
	before := w.book()
	before.want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 1})
	w.looks(10)
	after := w.book()
	for d, want := range map[metric.Desc]float64{metric.LoaderLooks: 10, metric.LoaderAliveSum: 10, metric.LoaderIdleSum: 0, metric.LoaderBlocked: 0} {
		if got := after.get(t, d, loader100) - before.get(t, d, loader100); got != want {
			t.Errorf("%s grew by %v, want %v", d.Name, got, want)
		}
	}
	// Validation begins: its worker is at work, and counts at once.
	m.thread(102, 102, running, "0", 'R')
	w.looks(1)
	w.book().want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 2})
}

// TestSlowSampleIsNoLoaderOfItsOwn: workers held up by one slow sample stay part of the loader.
func TestSlowSampleIsNoLoaderOfItsOwn(t *testing.T) {
	m := newMachine(t)
	m.process(100, job.Trainer, 0)
	m.process(101, job.Worker, 100)
	m.process(102, job.Worker, 100)
	m.thread(101, 101, running, "0", 'R')
	w := m.watch()
	defer w.Close()
	for range 2 * restSamples {
		w.looks(accountEvery)
		w.book()
	}
	m.writes(101, 9, 600) // at last
	w.looks(2 * accountEvery)
	w.book().want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 2})
}

// TestTrainerThatEnds hands its counts over once more and is then forgotten.
func TestTrainerThatEnds(t *testing.T) {
	m := newMachine(t)
	m.process(100, job.Trainer, 0)
	m.process(101, job.Worker, 100)
	w := m.watch()
	defer w.Close()
	w.looks(5)
	m.remove(101)
	m.remove(100)
	w.looks(5)
	b := w.book()
	b.want(t, trainer100, map[metric.Desc]float64{metric.LooksTotal: 5})
	b.want(t, loader100, map[metric.Desc]float64{metric.LoaderLooks: 5})
	if got := w.book(); got.adds != 0 {
		t.Errorf("a trainer that is gone is still recorded: %v", got.names())
	}
}

// TestReusedNumberIsAnotherProcess: what the number's next owner does is credited to nobody.
func TestReusedNumberIsAnotherProcess(t *testing.T) {
	m := newMachine(t)
	m.process(100, job.Trainer, 0)
	m.process(101, job.Worker, 100)
	m.put(101, "stat", strings.Replace(stat(101, 'S'), "1010", "9999", 1))
	w := m.watch()
	defer w.Close()
	w.looks(5)
	w.book().want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 0})
}

// TestLookAllocatesNothing keeps the garbage collector out of the loop.
func TestLookAllocatesNothing(t *testing.T) {
	m := newMachine(t)
	m.process(100, job.Trainer, 0)
	for pid := 101; pid <= 116; pid++ {
		m.process(pid, job.Worker, 100)
	}
	m.thread(101, 101, inReadOf5, "folio_wait_bit_common", 'D')
	m.thread(102, 102, inFault, "folio_wait_bit_common", 'D')
	m.thread(103, 103, running, "0", 'R')
	m.thread(104, 104, inReadOf5, "anon_pipe_read", 'S')
	m.link(104, 5, "pipe:[7]")
	w := m.watch()
	defer w.Close()
	w.looks(100)
	if n := testing.AllocsPerRun(200, func() { w.looks(1) }); n != 0 {
		t.Errorf("a look allocates %v times", n)
	}
}

// TestPaceKeepsItsBudget: looks get rarer as they get dearer, and are jittered.
func TestPaceKeepsItsBudget(t *testing.T) {
	p := lookPace{random: rand.New(rand.NewPCG(1, 1)), interval: LookInterval}
	for _, c := range []struct{ cost, want time.Duration }{
		{40 * time.Microsecond, LookInterval}, {150 * time.Microsecond, 50 * time.Millisecond}, {time.Second, slowestLooks},
		{40 * time.Microsecond, LookInterval},
	} {
		for range len(p.recent) {
			p.took(c.cost)
		}
		if p.interval != c.want {
			t.Errorf("a pass of %v: interval %v, want %v", c.cost, p.interval, c.want)
		}
	}
	var sum time.Duration
	lo, hi := time.Hour, time.Duration(0)
	for range 1000 {
		d := p.next()
		sum, lo, hi = sum+d, min(lo, d), max(hi, d)
	}
	if mean := sum / 1000; mean < 19*time.Millisecond || mean > 21*time.Millisecond || lo > 15*time.Millisecond || hi < 25*time.Millisecond {
		t.Errorf("looks come after %v to %v, %v in the mean", lo, hi, mean)
	}
}

// TestReceivingBetweenWaits: a short-lived socket at a known number marks running as receiving, a lasting one does not.
func TestReceivingBetweenWaits(t *testing.T) {
	open := map[int]string{}
	target := func(fd int) ([]byte, bool) {
		s, ok := open[fd]
		return []byte(s), ok
	}
	var r receiving
	at := time.Second
	r.waitedOn(17, at)
	open[17] = "socket:[1]"
	if !r.now(target, at+time.Millisecond) {
		t.Error("a socket just opened is not seen")
	}
	if r.now(target, at+2*passing) {
		t.Error("a socket that lasts marks receiving")
	}
	open[17] = "socket:[2]"
	if !r.now(target, at+2*passing+time.Millisecond) {
		t.Error("the next socket is not seen")
	}
	open[17] = "/dev/shm/torch_1_2_3 (deleted)"
	if r.now(target, at+3*passing) {
		t.Error("a tensor marks receiving")
	}
	delete(open, 17)
	open[18] = "socket:[3]"
	if r.now(target, at+3*passing) {
		t.Error("a socket never waited on marks receiving")
	}
	open[17] = "socket:[4]"
	if r.now(target, at+receivingMemory+time.Second) {
		t.Error("a number is remembered for ever")
	}
	r.waitedOn(14, at+2*receivingMemory)
	r.waitedOn(19, at+2*receivingMemory)
	open[16] = "socket:[5]"
	if !r.now(target, at+2*receivingMemory) {
		t.Error("a socket between two numbers waited on is not seen")
	}
}
