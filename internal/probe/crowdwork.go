package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// workCrowd is the row of works that reads items as one of several processes; without items it only says that the process is there.
const workCrowd = "crowd"

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
func joinCrowd(ctx context.Context, w *state, body json.RawMessage) (any, error) {
	var q crowdLoad
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, fmt.Errorf("decoding what to read: %w", err)
	}
	out := crowdLoaded{PID: os.Getpid()}
	if len(q.Items) == 0 {
		out.Remote = len(w.sample.Files) > 0 && remote(string(w.sample.Files[0].Path))
		return out, nil
	}
	if err := w.has(q.Items); err != nil {
		return nil, err
	}
	if q.Fresh {
		w.reopen(q.Items)
	}
	// The reading stays on one thread, whose waiting is counted: with that of the Go runtime's other threads the sum can be longer than the
	// time that passed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := runDelay()
	var err error
	out.loaded, err = w.load(ctx, q.load)
	out.Delay = max(0, runDelay()-before)
	return out, err
}

// has refuses items that are not in the sample.
func (w *state) has(items []int) error {
	if len(items) == 0 {
		return errors.New("no items to read")
	}
	for _, i := range items {
		if i < 0 || i >= len(w.sample.Items) {
			return fmt.Errorf("no item %d in a sample of %d", i, len(w.sample.Items))
		}
	}
	return nil
}

// reopen has the files of items that stay open just opened. One that cannot be opened fails again when it is read.
func (w *state) reopen(items []int) {
	w.forget()
	if w.sample.ItemIsFile() {
		return
	}
	for _, i := range items {
		if len(w.handles) == mostHandles {
			return
		}
		_, _ = w.handle(w.sample.Items[i].File)
	}
}

// runDelay is how many seconds this thread has waited for a CPU while it was ready to run: the second number of
// /proc/PID/task/TID/schedstat, in nanoseconds (sched-stats.rst); 0 where the kernel does not count.
func runDelay() float64 {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	ns, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return float64(ns) / 1e9
}

// elsewhere are the file systems whose waiting is for another machine or process, by their numbers in statfs(2). Those that golang.org/x/sys
// has no name for are from their own sources: Lustre, GPFS, BeeGFS.
var elsewhere = []int64{unix.NFS_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC, unix.V9FS_MAGIC,
	unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC, unix.OCFS2_SUPER_MAGIC, 0x0bd00bd0, gpfsMagic, 0x19830326}

func remote(path string) bool {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return false
	}
	return slices.Contains(elsewhere, int64(uint32(fs.Type)))
}
