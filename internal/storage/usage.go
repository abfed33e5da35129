package storage

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/procfs"
)

// Transfer is what the kernel counted of a process's reads (proc_pid_io(5)).
type Transfer struct {
	Stored int64 // read_bytes: fetched from storage
	Asked  int64 // rchar: through system calls, from the page cache as well
}

// Usage is what this process has used since it began.
type Usage struct {
	cpu  float64   // seconds, user and system
	io   *Transfer // nil where it may not be read
	text int64     // bytes that were read to learn it
}

// Used reads the process's accounts: getrusage(2), 0.3 µs, and /proc/self/io, some 10 µs.
func Used() Usage {
	var u Usage
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err == nil { // it has no way to fail for oneself
		u.cpu = float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
	}
	var io procfs.IO
	if text, err := os.ReadFile("/proc/self/io"); err == nil && procfs.ParseIO(text, &io) == nil {
		// absent in some containers: then nil says so
		u.io, u.text = &Transfer{Stored: io.ReadBytes, Asked: io.ReadChars}, int64(len(text))
	}
	return u
}

// Since is what was used between two looks, less the text that the first look itself read: a call is counted when it
// returns, so that it is not in its own figures. CPU time is in seconds; io is nil where the kernel does not tell.
func (u Usage) Since(before Usage) (cpu float64, io *Transfer) {
	cpu = u.cpu - before.cpu
	if u.io == nil || before.io == nil {
		return cpu, nil
	}
	return cpu, &Transfer{Stored: u.io.Stored - before.io.Stored, Asked: max(0, u.io.Asked-before.io.Asked-before.text)}
}
