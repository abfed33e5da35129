package procfs

import "strconv"

// Syscall is where a thread stands, from /proc/PID/task/TID/syscall. Reading it
// needs PTRACE_MODE_ATTACH: the same user, and with Yama's ptrace_scope 1 also
// being an ancestor of the process.
type Syscall struct {
	// Running says that the thread was on a CPU or ready for one; the other
	// fields are then empty.
	Running bool
	// Number is the system call's number on this architecture, or -1 where the
	// thread is blocked outside of a system call (a page fault, mostly).
	Number int
	Args   [6]uint64
	SP     uint64 // the user-space stack pointer
	PC     uint64 // the address of the code that the call returns to
}

// ParseSyscall parses "running", "-1 sp pc" or "nr a0 a1 a2 a3 a4 a5 sp pc"
// (proc_pid_syscall(5)).
func ParseSyscall(b []byte, s *Syscall) error {
	*s = Syscall{Number: -1}
	line, ok := oneLine(b)
	if !ok {
		return malformed("syscall", "not one whole line")
	}
	if string(line) == "running" {
		s.Running = true
		return nil
	}
	field, rest := nextField(line)
	nr, err := strconv.ParseInt(string(field), 10, 32)
	if err != nil || nr < -1 || nr > 1<<20 {
		return malformed("syscall", "number")
	}
	var v [8]uint64
	first := 0
	if nr < 0 {
		first = 6
	}
	for i := first; i < 8; i++ {
		field, rest = nextField(rest)
		if v[i], ok = parseHex(field); !ok {
			return malformed("syscall", "argument")
		}
	}
	s.Number = int(nr)
	copy(s.Args[:], v[:6])
	s.SP, s.PC = v[6], v[7]
	return nil
}
