package procfs

import "bytes"

// Status is what /proc/PID/status says (proc_pid_status(5)). Every field that a
// kernel or a kind of process may leave out is Optional.
type Status struct {
	Name []byte
	// UID is the real user.
	UID Optional[int]
	// NSPIDs are the process' numbers from the outermost visible pid namespace
	// to its own; more than one says it runs in a container.
	NSPIDs []int
	// CaughtSignals is the mask of signals with a handler, bit n-1 for signal n.
	CaughtSignals Optional[uint64]
	// CPUs is the affinity, already cut by the cpuset.
	CPUs Optional[CPUSet]
}

// ParseStatus parses a status file. A known line with an impossible value is an
// error; a missing or unknown line is not.
func ParseStatus(b []byte) (Status, error) {
	var s Status
	err := eachKeyed(b, "status", s.set)
	return s, emptied(&s, err)
}

func (s *Status) set(key, value []byte) (ok bool) {
	field, rest := nextField(value)
	switch string(key) {
	case "Name":
		s.Name = bytes.Clone(bytes.TrimLeft(value, " \t"))
	case "NSpid":
		for ; len(field) > 0; field, rest = nextField(rest) {
			n, ok := parseCount(field)
			if !ok || n > maxPID {
				return false
			}
			s.NSPIDs = append(s.NSPIDs, int(n))
		}
	case "SigCgt":
		n, ok := parseHex(field)
		s.CaughtSignals = Some(n)
		return ok
	case "Cpus_allowed_list":
		set, err := ParseCPUList(value)
		s.CPUs = Some(set)
		return err == nil
	case "Uid":
		n, ok := parseCount(field)
		s.UID = Some(int(n))
		return ok
	}
	return true
}
