package storage

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/procfs"
)

// Remote reports whether a path lies on another machine or behind another process, so that waiting for it is for them;
// false where it cannot be determined.
func Remote(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && distant(int64(fs.Type))
}

// fileSystem is the number that statfs(2) gives for the file system that holds a file; 0 where it cannot be determined.
func fileSystem(f *os.File) int64 {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return 0
	}
	return int64(uint32(fs.Type))
}

func distant(number int64) bool {
	kind, _ := procfs.KindOfMagic(number)
	return kind.Distant()
}

// ownCaches are the file systems with a cache of their own, neither dropped with a file's pages nor reported.
var ownCaches = []int64{procfs.MagicZFS, procfs.MagicGPFS}

// hidden is why it cannot be determined what is cached of a file system's files; "" where it can.
func hidden(number int64) string {
	kind, _ := procfs.KindOfMagic(number)
	switch {
	case kind == procfs.StorageMemory:
		return "the files lie in memory (tmpfs): there is no storage to read them from"
	case slices.Contains(ownCaches, number):
		return "the file system (ZFS, GPFS) has a cache of its own, which cannot be dropped or inspected"
	}
	return ""
}
