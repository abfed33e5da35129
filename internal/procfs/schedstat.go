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
}

// ParseSchedstat parses "cpu-ns run-delay-ns slices"
// (Documentation/scheduler/sched-stats.rst).
func ParseSchedstat(b []byte, s *Schedstat) error {
	*s = Schedstat{}
	line, ok := oneLine(b)
	if !ok {
		return malformed("schedstat", "not one whole line")
	}
	cpu, line := nextField(line)
	delay, line := nextField(line)
	slices, _ := nextField(line)
	c, ok1 := parseCount(cpu)
	d, ok2 := parseCount(delay)
	_, ok3 := parseCount(slices)
	if !ok1 || !ok2 || !ok3 {
		return malformed("schedstat", "not three numbers")
	}
	s.CPU, s.RunDelay = time.Duration(c), time.Duration(d)
	return nil
}
