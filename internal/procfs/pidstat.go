package procfs

import "bytes"

// Stat is what /proc/PID/stat or /proc/PID/task/TID/stat says (proc_pid_stat(5)).
type Stat struct {
	PID int
	// State is the kernel's letter: R running, S sleeping, D in uninterruptible
	// sleep, T stopped, t traced, Z zombie, I idle, X dead.
	State byte
	PPID  int
	// Kernel: it is a thread of the kernel, which has no program (PF_KTHREAD).
	Kernel bool
	// MajorFaults counts page faults that had to wait for storage.
	MajorFaults int64
	// UserSeconds and SystemSeconds are CPU time since the start, in steps of
	// 10 ms; of the whole thread group for a process, of one thread for a task.
	UserSeconds   float64
	SystemSeconds float64
	// EndedSeconds is the CPU time of all children that have ended and were
	// waited for, and of theirs; 0 for a task.
	EndedSeconds float64
	Threads      int
	// StartTicks is the start in clock ticks since boot: with PID it is the
	// identity. It does not move when the wall clock is set.
	StartTicks uint64
}

// Field numbers of proc_pid_stat(5), of those that are used.
const (
	statPPID    = 4
	statFlags   = 9
	statMajflt  = 12
	statUtime   = 14
	statStime   = 15
	statCutime  = 16
	statCstime  = 17
	statThreads = 20
	statStart   = 22
	statRSS     = 24 // there since before any kernel that runs: fewer columns are damage
)

// isKernelThread is PF_KTHREAD of the kernel's include/linux/sched.h: the same since it came in 2008.
const isKernelThread = 0x00200000

// ParseStat parses a stat file. The name stands in parentheses and may itself
// hold ')', blanks and newlines, so it ends at the last ')'. Unknown extra
// columns are ignored; a file without its final newline is cut.
func ParseStat(b []byte, s *Stat) error {
	*s = Stat{}
	open := bytes.IndexByte(b, '(')
	shut := bytes.LastIndexByte(b, ')')
	if open < 2 || shut < open || b[len(b)-1] != '\n' {
		return malformed("stat", "no name in parentheses, or cut")
	}
	pid, ok := parseCount(b[:open-1])
	if !ok || pid > maxPID {
		return malformed("stat", "process number")
	}
	s.PID = int(pid)

	field, rest := nextField(b[shut+1 : len(b)-1])
	if len(field) != 1 || field[0] < 'A' {
		return malformed("stat", "state")
	}
	s.State = field[0]
	for n := 4; n <= statRSS; n++ {
		if field, rest = nextField(rest); len(field) == 0 {
			return malformed("stat", "too few fields")
		}
		if !s.set(n, field) {
			return malformed("stat", "field out of range")
		}
	}
	return nil
}

// maxPID is PID_MAX_LIMIT of 64-bit kernels (include/linux/threads.h).
const maxPID = 4 << 20

// set stores field number n and reports whether its value can be true.
func (s *Stat) set(n int, field []byte) bool {
	v, ok := parseCount(field)
	switch n {
	case statPPID:
		s.PPID = int(v)
		return ok && v <= maxPID
	case statFlags:
		s.Kernel = v&isKernelThread != 0
	case statMajflt:
		s.MajorFaults = v
	case statUtime:
		s.UserSeconds = ticksToSeconds(v)
	case statStime:
		s.SystemSeconds = ticksToSeconds(v)
	case statCutime, statCstime:
		s.EndedSeconds += ticksToSeconds(v)
	case statThreads:
		s.Threads = int(v)
	case statStart:
		s.StartTicks = uint64(v)
	default: // not used, and some are negative
		return true
	}
	return ok
}
