package batches

import (
	"os"
	"path/filepath"

	"github.com/pipetune/pipetune/internal/procfs"
)

// tensorFolder is the path of the job's /dev/shm, where the file_system sharing strategy leaves its tensors as named
// files, from their making until the trainer drops them. Workers then hold no descriptors that could be listed.
type tensorFolder string

// folderLimit bounds the names looked at in one listing.
const folderLimit = 4096

// namedHeader is what torch puts before the data of a named file: a count of references, padded (libshm/manager.h,
// THManagedMapAllocator; measured with torch 1.13.1: 64 bytes more than the tensor).
const namedHeader = 64

// findTensorFolder returns the job's /dev/shm as the trainer sees it; "" where it is not a memory file system, because
// anything else may hang.
func findTensorFolder(fs procfs.FS, trainer *procfs.Process) tensorFolder {
	mounts, err := trainer.Mounts(fs)
	if err != nil {
		return ""
	}
	m, ok := procfs.MountOf(mounts, "/dev/shm")
	if !ok || m.FSType != "tmpfs" {
		return ""
	}
	return tensorFolder(trainer.Inside() + "/dev/shm")
}

// list takes the tensors of all workers at once; false where there was none of theirs.
func (f tensorFolder) list(workers []*Worker) bool {
	dir, err := os.Open(string(f))
	if err != nil {
		return false
	}
	defer dir.Close()
	byPID := make(map[int]*tensorLedger, len(workers))
	for _, w := range workers {
		w.ReadIO()
		w.ledger.startListing()
		byPID[w.Inner] = w.ledger
	}
	names, _ := dir.Readdirnames(folderLimit) // a name that comes or goes meanwhile is no error
	found := false
	for _, s := range names {
		name, ok := parseTensorName([]byte(s))
		ledger := byPID[name.pid]
		if !ok || ledger == nil {
			continue
		}
		found = true
		if ledger.size(name.number) == 0 {
			if st, err := os.Lstat(filepath.Join(string(f), s)); err == nil && st.Mode().IsRegular() &&
				st.Size() > namedHeader {
				ledger.setSize(name.number, st.Size()-namedHeader)
			}
		}
		ledger.hold(name.number)
	}
	for _, ledger := range byPID {
		ledger.endListing()
	}
	return found
}
