package procfs

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Buffer is the scratch space of the hot readers of one goroutine. What a read
// returns points into it and is valid until the next read with the same
// Buffer. The zero value is ready; it grows to the longest file read with it.
type Buffer struct{ b []byte }

// firstBuffer holds every per-process file in one read; the longest of them,
// /proc/PID/status, has about 1.6 kB.
const firstBuffer = 4096

// hotFile is a file kept open and read again and again from its start. The
// descriptor of a file below /proc/PID stays bound to that very process: once
// it ended, reads fail with ESRCH even when the number was given to another.
type hotFile struct {
	fd   int
	path string
	// oneShot says that a read shorter than the buffer is the end of the file,
	// which holds for the files the kernel prints in one go (single_open) and
	// for regular files, but not for diskstats, vmstat and other listed files.
	oneShot bool
}

const openFlags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK

func openHot(path string, oneShot bool) (*hotFile, error) {
	return openHotAt(unix.AT_FDCWD, path, path, oneShot)
}

// openHotAt opens a name below a folder's descriptor; path is for errors.
func openHotAt(dirfd int, name, path string, oneShot bool) (*hotFile, error) {
	for {
		fd, err := unix.Openat(dirfd, name, openFlags, 0)
		if err == nil {
			return &hotFile{fd: fd, path: path, oneShot: oneShot}, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, classify(path, err)
		}
	}
}

// read returns the file's content as it is now, without allocating once the
// buffer has grown. Read and parse together take, in µs on Linux 6.18 (Xeon, 2
// cores, BenchmarkProcess and BenchmarkMachine): schedstat 0.5, statm 0.6, io
// 0.9, syscall 1.2, wchan 1.4, stat 1.9 (of a process or a thread); pressure
// 1.2, meminfo 3.5, /proc/stat 4.0 and diskstats 6 (2 CPUs, 10 devices), vmstat
// 16; cpu.stat 1.3 and memory.stat 6 of a cgroup.
func (h *hotFile) read(buf *Buffer) ([]byte, error) {
	if buf.b == nil {
		buf.b = make([]byte, firstBuffer)
	}
	n := 0
	for {
		if n == len(buf.b) {
			if n >= maxFileBytes {
				return nil, malformed(h.path, "longer than 16 MiB")
			}
			grown := make([]byte, 2*n)
			copy(grown, buf.b)
			buf.b = grown
		}
		got, err := pread(h.fd, buf.b[n:], int64(n))
		if err != nil {
			if errors.Is(err, unix.EINTR) {
				continue
			}
			return nil, classify(h.path, err)
		}
		n += got
		if got == 0 || (h.oneShot && n < len(buf.b)) {
			return buf.b[:n], nil
		}
	}
}

func (h *hotFile) close() {
	if h != nil && h.fd >= 0 {
		_ = unix.Close(h.fd) // read-only: nothing to lose
		h.fd = -1
	}
}

// keptFile is a file that is opened at its first read and kept open; after a failure it is opened anew, so that a
// pressure file that is switched on while we watch is seen.
type keptFile struct {
	path   string
	listed bool // a read shorter than the buffer is not the end of it: see hotFile
	hot    *hotFile
}

func (f *keptFile) read(buf *Buffer) ([]byte, error) {
	if f.hot == nil {
		hot, err := openHot(f.path, !f.listed)
		if err != nil {
			return nil, err
		}
		f.hot = hot
	}
	b, err := f.hot.read(buf)
	if err != nil {
		f.close()
	}
	return b, err
}

func (f *keptFile) close() {
	f.hot.close()
	f.hot = nil
}

// into has what was read parsed into v, unless reading failed.
func into[T any](v *T, parse func([]byte, *T) error) func([]byte, error) error {
	return func(b []byte, err error) error {
		if err != nil {
			return err
		}
		return parse(b, v)
	}
}
