package probe

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/procfs"
)

// reopen has the files of items that stay open just opened. One that cannot be opened fails again when it is read.
func (w *state) reopen(items []int, handle string) {
	w.Forget()
	if handle == handleReopened {
		return
	}
	for _, i := range items {
		if len(w.Handles) == dataset.MaxOpen {
			return
		}
		_, _ = w.HandleOf(w.Sample.Items[i].File)
	}
}

// runDelay is how many seconds this thread has waited for a CPU while it was ready to run; 0 where the kernel does not
// count.
func runDelay() float64 {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	var s procfs.Schedstat
	if err != nil || procfs.ParseSchedstat(text, &s) != nil {
		return 0
	}
	return s.RunDelay.Seconds()
}

// elsewhere are the file systems whose waiting is for another machine or process, by their numbers in statfs(2). Those
// that golang.org/x/sys has no name for are from their own sources: Lustre, GPFS, BeeGFS.
var elsewhere = []int64{unix.NFS_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC,
	unix.CEPH_SUPER_MAGIC, unix.V9FS_MAGIC, unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC, unix.OCFS2_SUPER_MAGIC, 0x0bd00bd0,
	gpfsMagic, 0x19830326}

func remote(path string) bool {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return false
	}
	return slices.Contains(elsewhere, int64(uint32(fs.Type)))
}
