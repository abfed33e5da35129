package procfs

import "os"

// Statm is a process' memory in bytes (proc_pid_statm(5)). It is read without
// walking the page tables, unlike smaps, and is approximate by a few pages.
type Statm struct {
	VirtualBytes  int64
	ResidentBytes int64
	// SharedBytes is the resident part backed by files or shared memory.
	SharedBytes int64
}

// ParseStatm parses the seven page counts of statm.
func ParseStatm(b []byte, s *Statm) error {
	*s = Statm{}
	line, ok := oneLine(b)
	if !ok {
		return malformed("statm", "not one whole line")
	}
	var v [7]int64
	page := int64(os.Getpagesize())
	for i := range v {
		var field []byte
		field, line = nextField(line)
		n, ok := parseCount(field)
		if !ok || n > (1<<62)/page {
			return malformed("statm", "not seven page counts")
		}
		v[i] = n * page
	}
	s.VirtualBytes, s.ResidentBytes, s.SharedBytes = v[0], v[1], v[2]
	return nil
}
