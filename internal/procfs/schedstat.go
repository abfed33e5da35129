package procfs

import "time"

// Schedstat is the scheduler's account of one thread: /proc/PID/schedstat of a
// process is that of its first thread alone, not of the group.
type Schedstat struct {
	// CPU is the time on a CPU, exact to the nanosecond.
	CPU time.Duration
	// RunDelay is the time ready to run but waiting for a CPU. Time throttled by
	// a cgroup's CPU quota is in it (measured under a quota of half a CPU: 2.97 s
	// on the CPU, 2.90 s of run delay, 70 of 72 periods throttled).
	RunDelay time.Duration
	// Turns is how often it was given a CPU. All three are 0 where the kernel keeps no account.
	Turns int64
}

// ParseSchedstat parses "cpu-ns run-delay-ns slices"
// (Documentation/scheduler/sched-stats.rst).
func ParseSchedstat(b []byte, s *Schedstat) error {
	*s = Schedstat{}
	line, ok := oneLine(b)
	if !ok {
		return malformed("schedstat", "not one whole line")
	}
	var v [3]int64
	if !parseCounts(line, v[:]) {
		return malformed("schedstat", "not three numbers")
	}
	s.CPU, s.RunDelay, s.Turns = time.Duration(v[0]), time.Duration(v[1]), v[2]
	return nil
}
