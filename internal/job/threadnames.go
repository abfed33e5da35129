package job

import (
	"slices"
	"strings"
)

// pinNames are the names of the pinning thread: torch's own (torch/utils/data/_utils/pin_memory.py since 2.5), and
// what Python 3.14 makes of its function's name, of which the kernel keeps 15 bytes ("Thread-12 (_pin").
var pinNames = []string{"pt_data_pin", "(_pin"}

// autogradName begins the names of the threads that run the backward pass, one for each device
// (torch/csrc/autograd/engine.cpp, Engine::thread_init). Two digits of the device still fit into the kernel's 15
// bytes.
const autogradName = "pt_autograd_"

const (
	// maxThreads bounds how many threads of a trainer are known by name.
	maxThreads = 4096
	// maxAutograd bounds the autograd threads of a trainer that are watched: one for each device, of which a server has
	// 16 at most.
	maxAutograd = 16
)

// threadNames is what the names of a trainer's threads tell.
type threadNames struct {
	read     map[int]bool // threads whose names were read; false = once, and again at the next reading
	pin      int          // 0 = none has its name
	autograd []int        // in the order of their numbers
}

// readThreads brings the names up to date, and reports whether anything is another. Names are read twice each: a
// thread is named a moment after it was born.
func (n *node) readThreads() (changed bool) {
	tids, err := n.proc.Threads(nil)
	if err != nil {
		return false
	}
	now := make(map[int]bool, len(tids))
	pin, autograd := 0, []int(nil)
	for _, tid := range tids {
		if len(now) == maxThreads {
			break
		}
		now[tid] = true
		switch {
		case tid == n.threads.pin:
			pin = tid
		case slices.Contains(n.threads.autograd, tid):
			autograd = append(autograd, tid)
		case !n.threads.read[tid] && tid != n.id.PID:
			_, again := n.threads.read[tid]
			now[tid] = again
			switch name := n.threadName(tid); {
			case isPin(name):
				pin = tid
			case strings.HasPrefix(name, autogradName) && len(autograd) < maxAutograd:
				autograd = append(autograd, tid)
			}
		}
	}
	slices.Sort(autograd)
	changed = pin != n.threads.pin || !slices.Equal(autograd, n.threads.autograd)
	n.threads = threadNames{read: now, pin: pin, autograd: autograd}
	return changed
}

// threadName returns a thread's name, "" where it has ended.
func (n *node) threadName(tid int) string {
	task, err := n.proc.Task(tid)
	if err != nil {
		return ""
	}
	defer task.Close()
	comm, _ := task.Comm()
	return comm
}

func isPin(name string) bool {
	return slices.ContainsFunc(pinNames, func(part string) bool { return strings.Contains(name, part) })
}
