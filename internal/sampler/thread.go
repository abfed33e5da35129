package sampler

import (
	"bytes"
	"errors"
	"io/fs"
	"time"

	"github.com/pipetune/pipetune/internal/procfs"
)

// How often a sample goes deeper than the system call, in samples (50 a second).
const (
	// stopCheckEvery: a thread that is stopped or frozen keeps showing the call it slept in, so its state letter is
	// read twice a second.
	stopCheckEvery = 25
	// diskCheckEvery: state D is storage as a rule; which kernel function it is in is read at every fourth sample in D
	// only, because a loader that waits for storage is in D most of the time and the read costs as much as the sample.
	diskCheckEvery = 4
	// blindRetryEvery: a refused read is tried again every 5 s; the permission changes with an exec or a setting.
	blindRetryEvery = 250
	// hiddenSamples: wchan reads "0" both where it is refused and in the instant between two sleeps; this many in a row
	// are no instant.
	hiddenSamples = 20
)

// watchedThread is one thread that is sampled. It is used by the sampling goroutine only.
type watchedThread struct {
	task   *procfs.Task
	links  *procfs.FDLinks
	counts *sampleCounts
	proc   *procfs.Process
	// remotes are where waits on TCP connections are counted; nil: they are not.
	remotes *remotes
	// onRemote says that the last sample found one, and peer, where it is known, on whose.
	onRemote bool
	peer     *remote
	// trainer says that it is a trainer's main thread, or may feed one: what it polls and receives from must be able to
	// bring a batch.
	trainer bool
	// python is where the static data of a trainer's Python lie, which its global lock is in; nil: not known.
	python *procfs.Statics
	// feeder says that it may feed a trainer: it polls a queue for whatever descriptor it polls, but for a connection.
	feeder bool

	gone bool
	// blind is why the system call cannot be read; nil while it can.
	blind        error
	blindSamples int
	// mute says that, the system call being refused, the kernel function is hidden too: only the state letter is left.
	mute   bool
	hidden int // sleeping samples in a row without a kernel function

	readFD         int // descriptor of the last call that read from one, asleep
	sinceStopCheck int
	stopped        bool
	diskClass      waitClass
	diskSamples    int
}

// sampleScratch is what samples share: the table of calls and the scratch space, so that a sample allocates nothing.
type sampleScratch struct {
	calls *callTable
	// pollFD reads the first descriptor of a poll; see procfs.PollDescriptor. nil where the processes are not of this
	// machine.
	pollFD func(tid int, ufds uint64) (int, bool)
	// cpuTime is what all threads of a process have used of CPUs; see procfs.CPUTime. nil where the processes are not
	// of this machine.
	cpuTime func(pid int) (time.Duration, bool)
	syscall procfs.Syscall
	stat    procfs.Stat
}

// sample takes one sample, counts it, and returns what the thread was doing; false where it is gone.
func (t *watchedThread) sample(scratch *sampleScratch) (waitClass, bool) {
	class, err := t.classify(scratch)
	if err != nil {
		if errors.Is(err, procfs.ErrGone) {
			t.gone = true
			return classOther, false
		}
		class = classOther
	}
	t.onRemote = false
	t.counts.knows = t.counts.knows || t.python != nil && len(*t.python) > 0 && t.blind == nil
	if t.remotes != nil && t.blind == nil {
		t.counts.sees = true
		if class, t.onRemote = t.waitsRemote(scratch, class); t.onRemote {
			t.counts.remote++
		}
	}
	t.counts.add(class)
	return class, true
}

func (t *watchedThread) classify(scratch *sampleScratch) (waitClass, error) {
	if t.blind != nil {
		if t.blindSamples++; t.blindSamples < blindRetryEvery {
			return t.classifyBlind(scratch)
		}
		t.blindSamples, t.hidden, t.mute = 0, 0, false
	}
	if scratch.calls == nil {
		t.blind = errUnknownCalls
		return t.classifyBlind(scratch)
	}
	if err := t.task.Syscall(&scratch.syscall); err != nil {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, procfs.ErrNoData) {
			t.blind = err
			return t.classifyBlind(scratch)
		}
		return classOther, err
	}
	t.blind = nil
	if scratch.syscall.Running {
		t.stopped = false
		return classRunning, nil
	}
	v := classify(scratch.calls, &scratch.syscall)
	if (v.class == classFutex || v.class == classFutexTimed) && t.python != nil &&
		t.python.Has(scratch.syscall.Args[0]) {
		v.class = classGIL
	}
	if t.trainer {
		v.class = t.ofLoader(scratch, v.class)
	}
	t.readFD = int(int32(scratch.syscall.Args[0]))
	t.sinceStopCheck++
	check := t.stopped || t.sinceStopCheck >= stopCheckEvery
	if !check && !v.byState {
		return v.class, nil
	}
	if err := t.task.Stat(&scratch.stat); err != nil {
		return classOther, err
	}
	if check {
		t.sinceStopCheck = 0
		t.stopped = t.isStopped(scratch.stat.State)
	}
	if t.stopped {
		return classStopped, nil
	}
	switch scratch.stat.State {
	case 'R':
		return classRunning, nil
	case 'T', 't':
		t.stopped = true
		return classStopped, nil
	case 'Z', 'X':
		return classOther, procfs.ErrGone
	case 'D':
		if v.byState {
			return t.inDisk(v.class), nil
		}
	}
	if scratch.syscall.Number < 0 {
		if class, known := t.sleepsIn(); known && class != classQueuePoll {
			return class, nil
		}
		return classOther, nil
	}
	if v.byFD {
		return t.byTarget(v.class), nil
	}
	return v.class, nil
}

// errUnknownCalls says why system calls cannot be determined here.
var errUnknownCalls = errors.New("the system call numbers of this architecture are not known")

// isStopped recognizes a stopped or frozen thread. The cgroup v1 freezer shows D in __refrigerator, that of v2 shows S
// in get_signal or do_freezer_trap (both seen on Linux 6.18).
func (t *watchedThread) isStopped(state byte) bool {
	switch state {
	case 'T', 't':
		return true
	case 'S', 'D':
		class, known := t.sleepsIn()
		return known && class == classStopped
	}
	return false
}

// sleepsIn is the class of the kernel function that the thread sleeps in; false where it cannot be read or is not
// known.
func (t *watchedThread) sleepsIn() (waitClass, bool) {
	w, err := t.task.Wchan()
	if err != nil {
		return classOther, false
	}
	return classifyWchan(w)
}

// inDisk refines state D, which is also that of a parent in vfork and of a thread that waits for its process' memory
// map.
func (t *watchedThread) inDisk(call waitClass) waitClass {
	if call == classChild {
		return classChild
	}
	if t.diskSamples%diskCheckEvery == 0 {
		t.diskClass = classDisk
		class, known := t.sleepsIn()
		if known && (class == classStopped || class == classFutex || class == classChild) {
			t.diskClass = class
		}
	}
	t.diskSamples++
	return t.diskClass
}

// byTarget decides a call on a descriptor by what the descriptor is. Numbers are reused within milliseconds (a socket
// for each tensor received), so the answer is not kept.
func (t *watchedThread) byTarget(otherwise waitClass) waitClass {
	target, ok := t.links.Target(t.readFD)
	switch {
	case !ok:
		if class, known := t.sleepsIn(); known {
			return class
		}
		return otherwise
	case isDevice(target):
		return classDevice
	case otherwise != classFileRead:
		return otherwise
	case bytes.HasPrefix(target, []byte("/dev/")) && !bytes.HasPrefix(target, []byte("/dev/shm/")):
		return classOther // a terminal, …
	case bytes.HasPrefix(target, []byte("/")):
		return classFileRead
	case t.trainer && bytes.HasPrefix(target, socketLink):
		return t.received(classPipeRead)
	}
	return classPipeRead
}

// classifyBlind is the fallback where the system call is refused: the state letter and, where it is allowed, the kernel
// function. Whether a futex or a poll has a time-out cannot be seen then, nor on how many descriptors: a poll counts as
// one on a queue.
func (t *watchedThread) classifyBlind(scratch *sampleScratch) (waitClass, error) {
	if err := t.task.Stat(&scratch.stat); err != nil {
		return classOther, err
	}
	switch scratch.stat.State {
	case 'R':
		return classRunning, nil
	case 'T', 't':
		return classStopped, nil
	case 'Z', 'X':
		return classOther, procfs.ErrGone
	}
	class, known := classOther, false
	if !t.mute {
		w, err := t.task.Wchan()
		switch {
		case err == nil:
			class, known = classifyWchan(w)
			if t.hidden++; len(w) > 1 {
				t.hidden = 0
			}
			t.mute = t.hidden >= hiddenSamples
		case errors.Is(err, procfs.ErrGone):
			return classOther, err
		case errors.Is(err, fs.ErrPermission), errors.Is(err, procfs.ErrNoData):
			t.mute = true
		}
	}
	if scratch.stat.State == 'D' && (!known || class == classFileRead || class == classQueuePoll) {
		return classDisk, nil
	}
	return class, nil
}

func (t *watchedThread) close() { t.task.Close() }

// closeProcess closes the main thread of a process, and the process with it.
func (t *watchedThread) closeProcess() {
	t.close()
	t.links.Close()
	t.proc.Close()
}
