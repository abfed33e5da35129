package probe

import (
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/unit"
)

// The kernel ends a process of the control group, or of the machine, when memory runs out: that may be the job.
const (
	// leastWorker is what a worker process is taken to need at least: one that has read nothing has 2.4 MiB of pages of
	// its own, and room for items and their chunks comes on top.
	leastWorker = 16 << 20
	// pythonTakes is what the person's Python needs: 19 MiB with h5py 3.7 and numpy, and the items it holds.
	pythonTakes = 64 << 20
	// torchTakes is what torch adds: 113 MiB (torch 1.13, CPU), which the DataLoader's worker may copy.
	torchTakes = 256 << 20
	// mostHeld bounds the items that Python holds at a time, as a batch.
	mostHeld = 256 << 20
)

// spare is how much memory may be taken now; the largest number where nothing bounds it.
func (s *session) spare() int64 {
	if s.options.Spare != nil {
		if bytes, bounded := s.options.Spare(); bounded {
			return bytes
		}
	}
	return math.MaxInt64
}

// cacheWithin is the largest chunk cache that is tried, for each of so many files that are open together: all of them
// take no more than half of what may be taken, because chunks are held outside of it while they are undone.
func (s *session) cacheWithin(files int64) int64 {
	most := int64(mostCache)
	if half := s.spare() / 2; half < most {
		most = half
		s.warn(fmt.Sprintf("chunk caches of more than %s were not tried: they would take memory that is short here",
			unit.Bytes(float64(most/files))))
	}
	return most / files
}

// roomFor refuses so many processes where each, grown as large as the largest is now, would not fit in memory.
func (c *workerGroup) roomFor(count int) error {
	if count <= 1 || count <= len(c.processes) {
		return nil
	}
	each, have := int64(leastWorker), int64(0)
	for _, p := range c.processes {
		own := ownPages(p.pid)
		each, have = max(each, own), have+own
	}
	if need, spare := int64(count)*each-have, c.spare(); need > spare {
		return fmt.Errorf("they would take %s of memory, and %s may be taken", unit.Bytes(float64(need)),
			unit.Bytes(float64(spare)))
	}
	return nil
}

// ownPages is the memory of a process that is no file's, in bytes; 0 where it cannot be determined.
func ownPages(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	var m procfs.Statm
	if err != nil || procfs.ParseStatm(text, &m) != nil {
		return 0
	}
	return m.ResidentBytes - m.SharedBytes
}

// roomForPython is how many bytes of items Python may hold, and why it is to leave torch out, "" where it is not. The
// error says that there is no memory for Python at all.
func (s *session) roomForPython() (held int64, noTorch string, err error) {
	spare := s.spare()
	left := unit.Bytes(float64(spare))
	switch {
	case spare < pythonTakes:
		return 0, "", fmt.Errorf("the interpreter takes some %s of memory, and %s may be taken",
			unit.Bytes(pythonTakes), left)
	case spare < pythonTakes+torchTakes:
		noTorch = fmt.Sprintf("it takes some %s of memory, and %s may be taken", unit.Bytes(torchTakes), left)
	}
	return min(mostHeld, spare/4), noTorch, nil
}
