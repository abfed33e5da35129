package probe

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/procfs"
)

// usage is what this process has used since it began.
type usage struct {
	cpu  float64   // seconds, user and system
	io   *transfer // nil where it may not be read
	text int64     // bytes that were read to learn it
}

// usedSoFar reads the process's accounts: getrusage(2), 0.3 µs, and /proc/self/io, some 10 µs.
func usedSoFar() usage {
	var u usage
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err == nil { // it has no way to fail for oneself
		u.cpu = float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
	}
	var io procfs.IO
	if text, err := os.ReadFile("/proc/self/io"); err == nil && procfs.ParseIO(text, &io) == nil {
		// absent in some containers: then nil says so
		u.io, u.text = &transfer{Stored: io.ReadBytes, Asked: io.ReadChars, Calls: io.ReadCalls}, int64(len(text))
	}
	return u
}

// since is what was used between two looks, less what the first look itself read: its text, in two calls, the second of
// which finds the end. A call is counted when it returns, so neither is in its own figures.
func (u usage) since(before usage) (cpu float64, io *transfer) {
	cpu = u.cpu - before.cpu
	if u.io == nil || before.io == nil {
		return cpu, nil
	}
	return cpu, &transfer{
		Stored: u.io.Stored - before.io.Stored,
		Asked:  max(0, u.io.Asked-before.io.Asked-before.text),
		Calls:  max(0, u.io.Calls-before.io.Calls-2),
	}
}
