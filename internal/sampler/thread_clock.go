package sampler

import "time"

// atWork is the share of one CPU from which on a process whose main thread waits is at work in its other threads.
const atWork = 0.5

// cpuClock follows what all threads of a process use of CPUs. The main threads of Grain's workers wait for others of
// their process, which do the work.
type cpuClock struct{ used, at time.Duration }

// busy reports whether the threads used a CPU most of the time since the last call; false where the processes are not
// of this machine.
func (c *cpuClock) busy(scratch *sampleScratch, pid int, now time.Duration) bool {
	if scratch.cpuTime == nil {
		return false
	}
	used, ok := scratch.cpuTime(pid)
	before := *c
	*c = cpuClock{used, now}
	return ok && before.at > 0 && now > before.at && (used-before.used).Seconds() >= atWork*(now-before.at).Seconds()
}
