package probe

import (
	"context"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/procfs"
)

// crowdWork reads items as one of several processes; without items it only says that the process is there.
var crowdWork = work[crowdLoad, crowdLoaded]{"crowd", joinCrowd}

// crowdLoad asks for a load, and how long the process waited for a CPU meanwhile.
type crowdLoad struct {
	load
	Fresh bool // close all files before, and open those of the items again: nothing is left in a chunk cache
}

type crowdLoaded struct {
	loaded
	PID    int
	Delay  float64 // seconds in which the thread that reads was ready to run and had no CPU; 0 where the kernel does not count
	Remote bool    // the files lie on another machine or behind another process; said without items only
}

// joinCrowd is the work.
func joinCrowd(ctx context.Context, w *state, q crowdLoad) (crowdLoaded, error) {
	out := crowdLoaded{PID: os.Getpid()}
	if len(q.Items) == 0 {
		out.Remote = len(w.Sample.Files) > 0 && remote(string(w.Sample.Files[0].Path))
		return out, nil
	}
	if err := w.Sample.Has(q.Items); err != nil {
		return out, err
	}
	if q.Fresh {
		w.reopen(q.Items, q.Handle)
	}
	// The reading stays on one thread, whose waiting is counted: with that of the Go runtime's other threads the sum
	// can be longer than the time that passed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := runDelay()
	var err error
	out.loaded, err = w.load(ctx, q.load)
	out.Delay = max(0, runDelay()-before)
	return out, err
}

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
var elsewhere = []int64{unix.NFS_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC, unix.V9FS_MAGIC,
	unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC, unix.OCFS2_SUPER_MAGIC, 0x0bd00bd0, gpfsMagic, 0x19830326}

func remote(path string) bool {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return false
	}
	return slices.Contains(elsewhere, int64(uint32(fs.Type)))
}
