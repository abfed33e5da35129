package isolate

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"

	"golang.org/x/sys/unix"
)

// Limits are what a child may use. The child sets them on itself before its first request. The zero value of a field
// is the default given with it.
type Limits struct {
	// MemoryBytes is how much address space the child may map beyond what it has at its start; 0 is 1 GiB. It is not
	// a bound on the absolute size because the Go runtime reserves over a gigabyte of addresses it never touches.
	MemoryBytes int64 `json:"memory_bytes"`
	// CPUSeconds is its CPU time over its life; 0 is 60 s for a one-shot Call and none for a long-lived Child.
	CPUSeconds int64 `json:"cpu_seconds"`
	// OpenFiles is its number of file descriptors; 0 is 256.
	OpenFiles int64 `json:"open_files"`
	// FileBytes is the most that one file written may hold; 0: it can write none. A write beyond it fails with EFBIG
	// (the Go runtime does nothing on SIGXFSZ). It bounds size, not place: where to write is for the task to keep to.
	FileBytes int64 `json:"file_bytes,omitempty"`
}

const mib = 1 << 20

func (l Limits) withDefaults() Limits {
	l.MemoryBytes = cmp.Or(l.MemoryBytes, 1024*mib)
	l.OpenFiles = cmp.Or(l.OpenFiles, 256)
	return l
}

// apply sets the limits on the calling process, for good.
func (l Limits) apply() error {
	RaiseOOMScore()

	debug.SetMemoryLimit(l.MemoryBytes / 2) // the collector works harder before the kernel says no
	mapped, err := mappedBytes()
	if err != nil {
		return err
	}
	for _, limit := range []struct {
		name       string
		resource   int
		soft, hard int64
	}{
		// too little for a file, and the one value that a piped handler heeds (core(5))
		{"RLIMIT_CORE", unix.RLIMIT_CORE, 1, 1},
		{"RLIMIT_FSIZE", unix.RLIMIT_FSIZE, l.FileBytes, l.FileBytes},
		{"RLIMIT_NOFILE", unix.RLIMIT_NOFILE, l.OpenFiles, l.OpenFiles},
		{"RLIMIT_AS", unix.RLIMIT_AS, mapped + l.MemoryBytes, mapped + l.MemoryBytes},
		// SIGXCPU with a message, a second later SIGKILL
		{"RLIMIT_CPU", unix.RLIMIT_CPU, l.CPUSeconds, l.CPUSeconds + 1},
	} {
		if limit.resource == unix.RLIMIT_CPU && l.CPUSeconds == 0 {
			continue
		}
		var now unix.Rlimit
		if err := unix.Getrlimit(limit.resource, &now); err != nil {
			return fmt.Errorf("reading %s: %w", limit.name, err)
		}
		lower := unix.Rlimit{Cur: min(uint64(limit.soft), now.Max), Max: min(uint64(limit.hard), now.Max)}
		if err := unix.Setrlimit(limit.resource, &lower); err != nil {
			return fmt.Errorf("setting %s: %w", limit.name, err)
		}
	}
	return nil
}

// mappedBytes is the size of this process's address space: the first field of /proc/self/statm, in pages (proc(5)).
func mappedBytes() (int64, error) {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("reading the size of the child: %w", err)
	}
	first, _, _ := bytes.Cut(statm, []byte(" "))
	pages, err := strconv.ParseInt(string(first), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading /proc/self/statm: %w", err)
	}
	return pages * int64(os.Getpagesize()), nil
}
