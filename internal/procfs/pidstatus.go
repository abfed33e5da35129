package procfs

import (
	"bytes"
)

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
	CPUs                Optional[CPUSet]
	Threads             Optional[int]
	VoluntarySwitches   Optional[int64]
	InvoluntarySwitches Optional[int64]
	// ResidentBytes and SharedMemoryBytes (VmRSS, RssShmem) are absent for
	// zombies and kernel threads.
	ResidentBytes     Optional[int64]
	SharedMemoryBytes Optional[int64]
}

// ParseStatus parses a status file. A known line with an impossible value is an
// error; a missing or unknown line is not.
func ParseStatus(b []byte) (Status, error) {
	var s Status
	if len(b) == 0 {
		return s, malformed("status", "empty")
	}
	for len(b) > 0 {
		line, rest, whole := nextLine(b)
		if !whole {
			return Status{}, malformed("status", "cut")
		}
		b = rest
		key, value, ok := bytes.Cut(line, []byte{':'})
		if !ok {
			return Status{}, malformed("status", "line without a colon")
		}
		if !s.set(string(key), bytes.TrimLeft(value, " \t")) {
			return Status{}, malformed("status", string(key))
		}
	}
	return s, nil
}

func (s *Status) set(key string, value []byte) bool {
	switch key {
	case "Name":
		s.Name = bytes.Clone(value)
		return true
	case "NSpid":
		for len(value) > 0 {
			var field []byte
			field, value = nextField(value)
			if len(field) == 0 {
				break
			}
			n, ok := parseCount(field)
			if !ok || n > maxPID {
				return false
			}
			s.NSPIDs = append(s.NSPIDs, int(n))
		}
		return true
	case "SigCgt":
		n, ok := parseHex(value)
		s.CaughtSignals = Some(n)
		return ok
	case "Cpus_allowed_list":
		set, err := ParseCPUList(value)
		s.CPUs = Some(set)
		return err == nil
	}
	field, rest := nextField(value)
	switch key {
	case "Uid":
		n, ok := parseCount(field)
		s.UID = Some(int(n))
		return ok
	case "Threads":
		n, ok := parseCount(field)
		s.Threads = Some(int(n))
		return ok
	case "voluntary_ctxt_switches":
		n, ok := parseCount(field)
		s.VoluntarySwitches = Some(n)
		return ok
	case "nonvoluntary_ctxt_switches":
		n, ok := parseCount(field)
		s.InvoluntarySwitches = Some(n)
		return ok
	case "VmRSS":
		return setKiB(&s.ResidentBytes, field, rest)
	case "RssShmem":
		return setKiB(&s.SharedMemoryBytes, field, rest)
	}
	return true
}

// setKiB stores "N kB" as bytes; the kernel's kB are 1024 bytes.
func setKiB(dst *Optional[int64], field, rest []byte) bool {
	n, ok := parseCount(field)
	unit, _ := nextField(rest)
	if !ok || n > 1<<52 || string(unit) != "kB" {
		return false
	}
	*dst = Some(n << 10)
	return true
}
