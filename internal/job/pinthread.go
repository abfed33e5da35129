package job

import "strings"

// findPin returns the number of the trainer's pinning thread, 0 where none has its name. Names of threads are read once each.
func (n *node) findPin() int {
	tids, err := n.proc.Threads(nil)
	if err != nil {
		return n.pinThread
	}
	if n.threads == nil {
		n.threads = map[int]bool{}
	}
	now := make(map[int]bool, len(tids))
	pin := 0
	for _, tid := range tids {
		if len(now) == maxThreads {
			break
		}
		now[tid] = true
		switch {
		case tid == n.pinThread:
			pin = tid
		case !n.threads[tid] && tid != n.id.PID:
			// A thread is named a moment after it was born, so the names of new ones are read at two looks.
			_, again := n.threads[tid]
			now[tid] = again
			if n.isPin(tid) {
				pin = tid
			}
		}
	}
	n.threads = now
	return pin
}

func (n *node) isPin(tid int) bool {
	task, err := n.proc.Task(tid)
	if err != nil {
		return false
	}
	defer task.Close()
	comm, err := task.Comm()
	if err != nil {
		return false
	}
	for _, name := range pinNames {
		if strings.Contains(comm, name) {
			return true
		}
	}
	return false
}
