package procfs

import (
	"os"
	"slices"
)

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
	var pages [7]int64
	size := int64(os.Getpagesize())
	if !parseCounts(line, pages[:]) || slices.Max(pages[:]) > (1<<62)/size {
		return malformed("statm", "not seven page counts")
	}
	s.VirtualBytes, s.ResidentBytes, s.SharedBytes = pages[0]*size, pages[1]*size, pages[2]*size
	return nil
}
