package cli

import (
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/unit"
)

// benchRoom is how much memory must be left in pipetune's control group for bench-io to begin. On a file of 300 MiB, with two CPUs, it had a process
// ended by the kernel under a limit of 32 MiB, and none under one of 48.
const benchRoom = 64 << 20

// roomToMeasure refuses where measuring might have the kernel end a process of a control group for want of memory. That would seldom be pipetune's own
// alone: by oom_score_adj 1000 it is put before what has less resident than the limit, and a job has more where it maps files that another group
// pays for, as libraries that were read before it began. Where no limit can be read there is none to keep to, and the host's description says so.
func roomToMeasure(fs procfs.FS, pid int) error {
	group, err := fs.Cgroup(pid)
	if err != nil {
		return nil
	}
	room, err := group.MemoryRoom()
	if err != nil {
		return nil
	}
	left, limited := room.Get()
	if !limited || left.Bytes >= benchRoom {
		return nil
	}
	return fail(exitNotMeasured, "run it where the job does not run, or raise the limit",
		"of the memory limit of %s, %s is left: bench-io begins with %s or more, so that the kernel need not end the job for it",
		unit.Bytes(float64(left.Limit.Bytes)), unit.Bytes(float64(max(left.Bytes, 0))), unit.Bytes(benchRoom))
}
