package sampler

import (
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
)

// waitClass is what one sample found a thread doing.
type waitClass uint8

// The classes, in the order of classMetrics.
const (
	classRunning waitClass = iota
	classQueuePoll
	classFutexTimed
	classFutex
	classGIL
	classDisk
	classFileRead
	classFileOpen
	classFileLock
	classPipeWrite
	classPipeRead
	classSleep
	classDevice
	classChild
	classStopped
	classOther
	classes
)

// classMetrics is the counter of each class.
var classMetrics = [classes]metric.Desc{
	metric.ThreadRunning, metric.ThreadQueuePoll, metric.ThreadFutexTimed, metric.ThreadFutex, metric.ThreadGIL,
	metric.ThreadDisk,
	metric.ThreadFileRead, metric.ThreadFileOpen, metric.ThreadFileLock, metric.ThreadPipeWrite, metric.ThreadPipeRead,
	metric.ThreadSleep, metric.ThreadDevice, metric.ThreadWaitChild, metric.ThreadStopped, metric.ThreadOther,
}

// sampleCounts counts samples by class. The zero value is empty.
type sampleCounts struct {
	total   uint64
	byClass [classes]uint64
	remote  uint64 // of these, waiting on a TCP connection
	sees    bool   // whether that could be determined
	shared  uint64 // of these, of a worker: waiting for a lock that processes share
	shows   bool   // whether that could be determined
	knows   bool   // whether waits for Python's global lock could be told from others
}

func (c *sampleCounts) add(k waitClass) {
	c.total++
	c.byClass[k]++
}

// move counts the last sample as another class.
func (c *sampleCounts) move(from, to waitClass) {
	c.byClass[from]--
	c.byClass[to]++
}

// queuePollMillis is the least time-out of a poll that is taken for the DataLoader's own. It polls its queues for
// MP_STATUS_CHECK_INTERVAL = 5.0 s (torch/utils/data/_utils/__init__.py), or for the DataLoader's timeout=T in whole
// seconds; the kernel keeps showing the time-out the call began with. Python rounds the remaining time up to a
// millisecond, so 4999 is seen too.
const queuePollMillis = 1000

// futexCommand masks FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME off a futex operation (linux/futex.h).
const futexCommand = 0x7f

// futexPrivate is set in a futex operation on memory of one process alone (FUTEX_PRIVATE_FLAG, linux/futex.h): a lock
// among its threads. What several processes share cannot have it: a multiprocessing.Lock.
const futexPrivate = 0x80

// onShared reports whether a system call waits for a lock that processes share.
func onShared(calls *callTable, s *procfs.Syscall) bool {
	return !s.Running && s.Number >= 0 && calls.of(s.Number) == callFutex && s.Args[1]&futexPrivate == 0
}

// futexTimed are the futex operations whose fourth argument is a time-out: FUTEX_WAIT, FUTEX_LOCK_PI,
// FUTEX_WAIT_BITSET.
var futexTimed = map[uint64]bool{0: true, 6: true, 9: true}

// verdict is what a system call alone reports a sleeping thread.
type verdict struct {
	class waitClass
	// byFD says that the class depends on what the first argument, a descriptor, points to.
	byFD bool
	// byState says that the state letter must be read: the call may sleep in state D, which is storage.
	byState bool
}

// verdicts are those of the calls as far as their arguments do not matter.
var verdicts = [...]verdict{
	callOther:     {class: classOther, byState: true},
	callPoll:      {class: classOther},
	callPpoll:     {class: classOther},
	callFutex:     {class: classFutex},
	callRead:      {class: classFileRead, byFD: true, byState: true},
	callFileRead:  {class: classFileRead, byState: true},
	callWrite:     {class: classPipeWrite, byState: true},
	callReceive:   {class: classPipeRead},
	callOpen:      {class: classFileOpen, byState: true},
	callFcntl:     {class: classOther, byState: true},
	callFlock:     {class: classFileLock, byState: true},
	callSleep:     {class: classSleep},
	callSelect:    {class: classOther},
	callIoctl:     {class: classOther, byFD: true, byState: true},
	callWaitChild: {class: classChild},
}

// classify reads a system call. It is not to be asked about a running thread.
func classify(calls *callTable, s *procfs.Syscall) verdict {
	if s.Number < 0 {
		// Blocked outside of a call: a page fault, a stop signal, or on its way back from one. The state tells.
		return verdict{class: classOther, byState: true}
	}
	group := calls.of(s.Number)
	v := verdicts[group]
	switch {
	case group == callPoll && s.Args[1] == 1 && int32(s.Args[2]) >= queuePollMillis:
		v.class = classQueuePoll
	case group == callPpoll && !calls.hasPoll && s.Args[1] == 1 && s.Args[2] != 0:
		// The time-out is behind a pointer and cannot be seen; one descriptor and some time-out is what the DataLoader
		// asks for where the architecture has no poll call (arm64).
		v.class = classQueuePoll
	case group == callFutex && futexTimed[s.Args[1]&futexCommand] && s.Args[3] != 0:
		v.class = classFutexTimed
	case group == callFcntl && (s.Args[1] == 7 || s.Args[1] == 38):
		// F_SETLKW, F_OFD_SETLKW (linux/fcntl.h): the only commands that sleep for a lock.
		v.class = classFileLock
	case group == callSelect && s.Args[0] == 0: // no descriptors: only time passes
		v.class = classSleep
	}
	return v
}
