package procfs

import "bytes"

// Stat is what /proc/PID/stat or /proc/PID/task/TID/stat says (proc_pid_stat(5)).
type Stat struct {
	PID int
	// State is the kernel's letter: R running, S sleeping, D in uninterruptible
	// sleep, T stopped, t traced, Z zombie, I idle, X dead.
	State byte
	PPID  int
	// MinorFaults counts page faults that were served from memory.
	MinorFaults int64
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
	RSSPages   int64
	// Processor is the CPU the thread last ran on.
	Processor Optional[int]
	// BlockIODelaySeconds is the time waited for block I/O. The kernel keeps it
	// at 0 unless kernel.task_delayacct is 1, which has not been the default
	// since Linux 5.14; a 0 here is therefore no evidence and comes as absent.
	BlockIODelaySeconds Optional[float64]

	// comm is where the name lies in the parsed bytes.
	commFrom, commTo int
}

// Field numbers of proc_pid_stat(5), of those that are used.
const (
	statPPID      = 4
	statMinflt    = 10
	statMajflt    = 12
	statUtime     = 14
	statStime     = 15
	statCutime    = 16
	statCstime    = 17
	statThreads   = 20
	statStart     = 22
	statRSS       = 24
	statProcessor = 39
	statDelayacct = 42
)

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
	s.commFrom, s.commTo = open+1, shut

	rest := b[shut+1 : len(b)-1]
	field, rest := nextField(rest)
	if len(field) != 1 || field[0] < 'A' {
		return malformed("stat", "state")
	}
	s.State = field[0]
	last := 3
	for n := 4; ; n++ {
		field, rest = nextField(rest)
		if len(field) == 0 {
			break
		}
		last = n
		if !s.set(n, field) {
			return malformed("stat", "field out of range")
		}
		if n == statDelayacct {
			break
		}
	}
	if last < statRSS {
		return malformed("stat", "too few fields")
	}
	return nil
}

// maxPID is PID_MAX_LIMIT of 64-bit kernels (include/linux/threads.h).
const maxPID = 4 << 20

// set stores field number n and reports whether its value can be true.
func (s *Stat) set(n int, field []byte) bool {
	switch n {
	case statPPID, statMinflt, statMajflt, statUtime, statStime, statCutime, statCstime, statThreads, statStart, statProcessor, statDelayacct:
	case statRSS:
		// The kernel's per-thread counters may sum to a small negative number.
		v, ok := parseInt(field)
		s.RSSPages = max(v, 0)
		return ok
	default:
		return true
	}
	v, ok := parseCount(field)
	if !ok {
		return false
	}
	switch n {
	case statPPID:
		s.PPID = int(v)
		return v <= maxPID
	case statMinflt:
		s.MinorFaults = v
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
	case statProcessor:
		s.Processor = Some(int(v))
	case statDelayacct:
		if v > 0 {
			s.BlockIODelaySeconds = Some(ticksToSeconds(v))
		}
	}
	return true
}

// Comm returns the name in the bytes s was parsed from, as the kernel gave it.
func (s *Stat) Comm(b []byte) []byte {
	if s.commTo > len(b) || s.commFrom > s.commTo {
		return nil
	}
	return b[s.commFrom:s.commTo]
}
