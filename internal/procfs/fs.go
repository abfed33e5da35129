// Package procfs reads what Linux says about itself and its processes under
// /proc, /sys and the cgroup file systems, and nothing else of the machine.
//
// It promises three things. Reading and parsing are apart: every parser takes
// bytes and can be fuzzed. Nothing unknown is reported as zero: a file that is
// not there is ErrNoData, one that may not be read satisfies
// errors.Is(err, fs.ErrPermission), a process that went away is ErrGone, and
// bytes that make no sense are ErrMalformed. A reused process number is never
// credited: a Process is bound to the (pid, start time) pair it was opened
// with.
//
// It refuses to read smaps and smaps_rollup, which stop the process they are
// about (6 ms per GiB of 4 KiB pages, measured on Linux 6.18), and it opens
// nothing for writing.
//
// CPUs' flags and swap are read by prometheus/procfs. The rest is read here, because it is
// hot (it allocates for each line, column or CPU; a pass over 16 workers may not), because it is read through a
// process that is held open and not by its number, because cgroups have files of the same form, or because the library
// says less: its mountinfo leaves names escaped, it has no vmstat, schedstat of a thread, syscall or wchan, and its
// /proc/stat does not tell a missing column from none spent.
//
// Every name, path and argument returned is as the kernel gave it: bytes that
// somebody else chose. The caller cleans them before they are shown.
package procfs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// FS is a view of one machine's /proc and /sys below a root folder. The zero
// value is the machine this program runs on; tests point Root at a folder that
// holds proc/ and sys/. FS holds no open files and may be copied.
type FS struct {
	// Root is the folder that contains proc and sys; "" means "/".
	Root string
}

// The kinds of absence, distinguished with errors.Is. A permission error is
// fs.ErrPermission of the standard library.
var (
	// ErrNoData says that this kernel, machine or cgroup does not have the
	// thing: the file is absent, or present and switched off.
	ErrNoData = errors.New("no data")
	// ErrGone says that the process or thread ended, or that its number now
	// belongs to another.
	ErrGone = errors.New("process is gone")
	// ErrMalformed says that the bytes are not what the kernel documents:
	// cut, out of range or of another shape.
	ErrMalformed = errors.New("malformed")
)

// maxFileBytes bounds every whole-file read. The longest legitimate file here
// is mountinfo: 4,096 mounts of 250 bytes are 1 MiB; 16 MiB leaves room for
// container hosts and still refuses a file that never ends.
const maxFileBytes = 16 << 20

// Path returns the place of a file named below the root.
func (f FS) Path(elem ...string) string {
	return filepath.Join(append([]string{cmp.Or(f.Root, "/")}, elem...)...)
}

// readFile reads a whole file of the machine, at most maxFileBytes of it.
func (f FS) readFile(elem ...string) ([]byte, error) {
	return readBounded(f.Path(elem...))
}

// readString reads a one-value file and trims white space around the value.
func (f FS) readString(elem ...string) (string, error) {
	b, err := f.readFile(elem...)
	return strings.TrimSpace(string(b)), err
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, classify(path, err)
	}
	defer file.Close()
	return readAll(file, path)
}

// readAll reads a file to its end, at most maxFileBytes of it.
func readAll(r io.Reader, path string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err != nil {
		return nil, classify(path, err)
	}
	if len(b) > maxFileBytes {
		return nil, malformed(path, "longer than 16 MiB")
	}
	return b, nil
}

// readError ties a path to the kind of failure and its cause.
type readError struct {
	path  string
	kind  error // ErrNoData, ErrGone, or nil where the cause says it all
	cause error
}

func (e *readError) Error() string {
	if e.kind == nil {
		return "reading " + e.path + ": " + e.cause.Error()
	}
	return "reading " + e.path + ": " + e.kind.Error() + ": " + e.cause.Error()
}

func (e *readError) Unwrap() []error {
	if e.kind == nil {
		return []error{e.cause}
	}
	return []error{e.kind, e.cause}
}

// classify names the kind of a failed read of something that is not a process.
// EOPNOTSUPP and EINVAL count as "no data": a pressure file of a kernel built
// with CONFIG_PSI_DEFAULT_DISABLED exists and answers EOPNOTSUPP.
func classify(path string, err error) error {
	cause := rootCause(err)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR),
		errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.EINVAL),
		errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENXIO):
		return &readError{path, ErrNoData, cause}
	case errors.Is(err, syscall.ESRCH), errors.Is(err, syscall.EBADF): // the latter of one that was closed
		return &readError{path, ErrGone, cause}
	}
	return &readError{path, nil, cause}
}

// rootCause drops the path that os.PathError repeats.
func rootCause(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func malformed(what, why string) error {
	return fmt.Errorf("parsing %s: %w: %s", what, ErrMalformed, why)
}
