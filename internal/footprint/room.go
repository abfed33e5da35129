package footprint

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/unit"
)

// How much memory must be left in pipetune's control group for it to begin. Measured with two CPUs: bench-io of a file
// of 300 MiB had a process ended by the kernel under a limit of 32 MiB, and none under one of 48; a watch of 6 s of a
// job with two workers was ended under 12 MiB, and not under 16.
const (
	BenchRoom = 64 << 20
	WatchRoom = 32 << 20
)

// RoomFor refuses where what pipetune is about to do might have the kernel end a process of a control group for want of
// memory. That would seldom be pipetune's own alone: by oom_score_adj 1000 it is put before what has less resident than
// the limit, and a job has more where it maps files that another group pays for, as libraries that were read before it
// began. Where no limit can be read there is none to keep to, and the host's description says so.
func RoomFor(fs procfs.FS, pid int, command string, need int64) error {
	left, limited := roomLeft(fs, pid)
	if !limited || left.Bytes >= need {
		return nil
	}
	return fmt.Errorf("of the memory limit of %s, %s is left: %s begins with %s or more, so that the kernel need not "+
		"end the job for it", unit.Bytes(float64(left.Limit.Bytes)), unit.Bytes(float64(max(left.Bytes, 0))), command,
		unit.Bytes(float64(need)))
}

// roomLeft is what the memory limit of a process's control group leaves; false where none can be read.
func roomLeft(fs procfs.FS, pid int) (procfs.MemoryRoom, bool) {
	group, err := fs.Cgroup(pid)
	if err != nil {
		return procfs.MemoryRoom{}, false
	}
	room, err := group.MemoryRoom()
	if err != nil {
		return procfs.MemoryRoom{}, false
	}
	return room.Get()
}

// Free is how much memory a process may still take: what its control group's limit leaves, or the machine where that is
// less. It is asked anew at each call; false where neither can be read.
func Free(fs procfs.FS, pid int) func() (int64, bool) {
	machine := fs.Machine()
	return func() (int64, bool) {
		left, limited := roomLeft(fs, pid)
		free := left.Bytes
		var m procfs.Meminfo
		if machine.Meminfo(&m) == nil {
			if n, ok := m.Available.Get(); ok && (!limited || n < free) {
				free, limited = n, true
			}
		}
		return max(0, free), limited
	}
}

// SpareFor is how much memory bench-io may take beyond what it has: what is free, but for the room it begins with,
// which is left to the job, since a job may grow.
func SpareFor(fs procfs.FS, pid int) func() (int64, bool) {
	free := Free(fs, pid)
	return func() (int64, bool) {
		bytes, known := free()
		return max(0, bytes-BenchRoom), known
	}
}
