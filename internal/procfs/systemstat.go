package procfs

import "bytes"

// CPUState is one column of /proc/stat.
type CPUState int

// The columns in the kernel's order (proc_stat(5)). Guest time is already in
// user time, guest-nice time in nice time.
const (
	CPUUser CPUState = iota
	CPUNice
	CPUSystem
	CPUIdle
	CPUIOWait
	CPUIRQ
	CPUSoftIRQ
	CPUSteal
	cpuStates
)

// CPUTimes are the accumulated times of one CPU or of all together.
type CPUTimes struct {
	ticks [cpuStates]int64
	n     int
}

// Seconds returns the time spent in a state since boot, in steps of 10 ms, and
// whether this kernel reports it. The kernel documents that iowait is not
// reliable and may go down.
func (t CPUTimes) Seconds(s CPUState) (float64, bool) {
	if s < 0 || int(s) >= t.n {
		return 0, false
	}
	return ticksToSeconds(t.ticks[s]), true
}

// busyStates are the columns that are work. Guest time is already in user time.
var busyStates = [...]CPUState{CPUUser, CPUNice, CPUSystem, CPUIRQ, CPUSoftIRQ}

// Busy returns the seconds spent working since boot. A kernel without a column counts that time under another.
func (t CPUTimes) Busy() (seconds float64) {
	for _, state := range busyStates {
		s, _ := t.Seconds(state)
		seconds += s
	}
	return seconds
}

// CPUCore is one CPU of /proc/stat; offline CPUs have no line.
type CPUCore struct {
	Num   int
	Times CPUTimes
}

// SystemStat is what /proc/stat says.
type SystemStat struct {
	Total CPUTimes
	Cores []CPUCore
}

// ParseSystemStat parses /proc/stat into s, reusing its Cores.
func ParseSystemStat(b []byte, s *SystemStat) error {
	cores := s.Cores[:0]
	*s = SystemStat{}
	err := eachLine(b, "/proc/stat", func(line []byte) (ok bool) {
		key, value := nextField(line)
		switch {
		case string(key) == "cpu":
			s.Total, ok = parseCPUTimes(value)
			return ok
		case bytes.HasPrefix(key, []byte("cpu")):
			num, isNum := parseCount(key[3:])
			times, ok := parseCPUTimes(value)
			cores = append(cores, CPUCore{Num: int(num), Times: times})
			return ok && isNum && num < maxCPUs && len(cores) <= maxCPUs
		}
		return true
	})
	if err == nil && s.Total.n == 0 {
		err = malformed("/proc/stat", "no cpu line")
	}
	if err != nil {
		*s, cores = SystemStat{}, cores[:0]
	}
	s.Cores = cores
	return err
}

// parseCPUTimes reads up to eight tick counts; the first four have always been
// there.
func parseCPUTimes(b []byte) (CPUTimes, bool) {
	var t CPUTimes
	for t.n < int(cpuStates) {
		var field []byte
		if field, b = nextField(b); len(field) == 0 {
			break
		}
		v, ok := parseCount(field)
		if !ok {
			return CPUTimes{}, false
		}
		t.ticks[t.n] = v
		t.n++
	}
	return t, t.n > int(CPUIdle)
}
