package procfs

import "time"

// CPUTime is the CPU time that all threads of a process have used since it began, those that ended included: its CPU
// clock (clock_getcpuclockid(3)), which whoever sees the process may read. false where there is no such process. 0.4 µs
// for a process of few threads.
func CPUTime(pid int) (used time.Duration, ok bool) {
	const scheduler = 2 // CPUCLOCK_SCHED, include/linux/posix-timers.h
	if pid <= 0 {
		return 0, false
	}
	return readClock(int32(^pid<<3 | scheduler))
}
