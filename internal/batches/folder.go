package batches

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/pipetune/pipetune/internal/procfs"
)

// tensorFolder is the job's /dev/shm, where the file_system sharing strategy leaves its tensors as named files, from
// their making until the trainer drops them. Workers then hold no descriptors that could be listed.
type tensorFolder struct {
	dir string
}

// folderLimit bounds the names looked at in one listing.
const folderLimit = 4096

// namedHeader is what torch puts before the data of a named file: a count of references, padded (libshm/manager.h,
// THManagedMapAllocator; measured with torch 1.13.1: 64 bytes more than the tensor).
const namedHeader = 64

// openTensorFolder returns the job's /dev/shm as the trainer sees it; nil where it is not a memory file system, because
// anything else may hang.
func openTensorFolder(fs procfs.FS, trainer *procfs.Process) *tensorFolder {
	mounts, err := trainer.Mounts()
	if err != nil {
		return nil
	}
	m, ok := procfs.MountOf(mounts, "/dev/shm")
	if !ok || m.FSType != "tmpfs" {
		return nil
	}
	return &tensorFolder{dir: fs.Path("proc", strconv.Itoa(trainer.PID), "root", "dev", "shm")}
}

// list takes the tensors of all workers at once; false where there was none of theirs.
func (f *tensorFolder) list(workers []*Worker) bool {
	dir, err := os.Open(f.dir)
	if err != nil {
		return false
	}
	defer dir.Close()
	type extent struct{ smallest, largest int64 }
	extents := make(map[int]*extent, len(workers))
	byPID := make(map[int]*Worker, len(workers))
	for _, w := range workers {
		w.ReadIO()
		w.ledger.startListing()
		extents[w.Inner], byPID[w.Inner] = &extent{-1, -1}, w
	}
	names, _ := dir.Readdirnames(folderLimit) // a name that comes or goes meanwhile is no error
	found := false
	for _, s := range names {
		name, ok := parseTensorName([]byte(s))
		w := byPID[name.pid]
		if !ok || w == nil {
			continue
		}
		found = true
		size := w.ledger.size(name.number)
		if size == 0 {
			if st, err := os.Lstat(filepath.Join(f.dir, s)); err == nil && st.Mode().IsRegular() &&
				st.Size() > namedHeader {
				size = st.Size() - namedHeader
				w.ledger.setSize(name.number, size)
			}
		}
		w.ledger.hold()
		e := extents[name.pid]
		if e.smallest < 0 || name.number < e.smallest {
			e.smallest = name.number
		}
		e.largest = max(e.largest, name.number)
	}
	for pid, e := range extents {
		byPID[pid].ledger.endListing(e.smallest, e.largest)
	}
	return found
}
