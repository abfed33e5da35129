package probe

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
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
	if text, err := os.ReadFile("/proc/self/io"); err == nil { // absent in some containers: then nil says so
		u.io, u.text = parseIO(text), int64(len(text))
	}
	return u
}

// parseIO reads the lines "name: value" of /proc/PID/io; nil where one that is needed is missing.
func parseIO(text []byte) *transfer {
	var t transfer
	fields := map[string]*int64{"read_bytes": &t.Stored, "rchar": &t.Asked, "syscr": &t.Calls}
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		field := fields[string(name)]
		if field == nil {
			continue
		}
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || n < 0 {
			return nil
		}
		*field = n
		delete(fields, string(name))
	}
	if len(fields) > 0 {
		return nil
	}
	return &t
}

// since is what was used between two looks, less what the first look itself read: its text, in two calls, the second of which finds the
// end. A call is counted when it returns, so neither is in its own figures.
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
