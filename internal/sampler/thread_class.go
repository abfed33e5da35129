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
	metric.ThreadRunning, metric.ThreadQueuePoll, metric.ThreadFutexTimed, metric.ThreadFutex, metric.ThreadDisk,
	metric.ThreadFileRead, metric.ThreadFileOpen, metric.ThreadFileLock, metric.ThreadPipeWrite, metric.ThreadPipeRead,
	metric.ThreadSleep, metric.ThreadDevice, metric.ThreadWaitChild, metric.ThreadStopped, metric.ThreadOther,
}

// sampleCounts counts samples by class. The zero value is empty.
type sampleCounts struct {
	total   uint64
	byClass [classes]uint64
	remote  uint64 // of these, waiting on a TCP connection
	sees    bool   // whether that could be determined
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

// classify reads a system call. It is not to be asked about a running thread.
func classify(calls *callTable, s *procfs.Syscall) verdict {
	if s.Number < 0 {
		// Blocked outside of a call: a page fault, a stop signal, or on its way back from one. The state tells.
		return verdict{class: classOther, byState: true}
	}
	switch calls.of(s.Number) {
	case callPoll:
		if s.Args[1] == 1 && int32(s.Args[2]) >= queuePollMillis {
			return verdict{class: classQueuePoll}
		}
		return verdict{class: classOther}
	case callPpoll:
		// The time-out is behind a pointer and cannot be seen; one descriptor and some time-out is what the DataLoader
		// asks for where the architecture has no poll call (arm64).
		if !calls.hasPoll && s.Args[1] == 1 && s.Args[2] != 0 {
			return verdict{class: classQueuePoll}
		}
		return verdict{class: classOther}
	case callFutex:
		if futexTimed[s.Args[1]&futexCommand] && s.Args[3] != 0 {
			return verdict{class: classFutexTimed}
		}
		return verdict{class: classFutex}
	case callRead:
		return verdict{class: classFileRead, byFD: true, byState: true}
	case callFileRead:
		return verdict{class: classFileRead, byState: true}
	case callWrite:
		return verdict{class: classPipeWrite, byState: true}
	case callReceive:
		return verdict{class: classPipeRead}
	case callOpen:
		return verdict{class: classFileOpen, byState: true}
	case callFcntl:
		// F_SETLKW, F_OFD_SETLKW (linux/fcntl.h): the only commands that sleep for a lock.
		if s.Args[1] == 7 || s.Args[1] == 38 {
			return verdict{class: classFileLock, byState: true}
		}
		return verdict{class: classOther, byState: true}
	case callFlock:
		return verdict{class: classFileLock, byState: true}
	case callSleep:
		return verdict{class: classSleep}
	case callSelect:
		if s.Args[0] == 0 { // no descriptors: only time passes
			return verdict{class: classSleep}
		}
		return verdict{class: classOther}
	case callIoctl:
		return verdict{class: classOther, byFD: true, byState: true}
	case callWaitChild:
		return verdict{class: classChild}
	}
	return verdict{class: classOther, byState: true}
}
