package procfs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Stat reads the state and CPU time of the whole thread group; ErrGone where
// the number belongs to another process by now. 1.9 µs, no allocation.
func (p *Process) Stat(s *Stat) error {
	if err := p.readStat(s); err != nil {
		return err
	}
	if s.StartTicks != p.Start {
		*s = Stat{}
		return fmt.Errorf("reading %s/stat: %w: the number belongs to another process now", p.path, ErrGone)
	}
	return nil
}

// Schedstat reads the exact CPU time and run delay of the first thread.
func (p *Process) Schedstat(s *Schedstat) error {
	return into(s, ParseSchedstat)(p.readHot(&p.schedstat, "schedstat"))
}

// IO reads the I/O account of the whole process.
func (p *Process) IO(io *IO) error { return into(io, ParseIO)(p.readHot(&p.io, "io")) }

// Statm reads the memory size.
func (p *Process) Statm(s *Statm) error {
	if err := into(s, ParseStatm)(p.readHot(&p.statm, "statm")); err != nil {
		return err
	}
	if s.VirtualBytes == 0 {
		// A zombie and a kernel thread have no memory: all columns are 0.
		return &readError{p.path + "/statm", ErrNoData, fmt.Errorf("no memory of its own")}
	}
	return nil
}

// Status reads the status file; for discovery and once a second, not each tick.
func (p *Process) Status() (Status, error) {
	b, err := p.readCold("status")
	if err != nil {
		return Status{}, goneFrom(err)
	}
	return ParseStatus(b)
}

// Cmdline returns the arguments, unclean and unredacted; none for a zombie or a
// kernel thread. The kernel takes the target's mmap lock for it, so the read
// can hang while a thread of the target holds that lock in state D: read it
// once at discovery, never in the loop.
func (p *Process) Cmdline() ([][]byte, error) {
	b, err := p.readCold("cmdline")
	if err != nil {
		return nil, goneFrom(err)
	}
	return ParseCmdline(b), nil
}

// ParseCmdline splits the NUL-terminated arguments. A process may write over
// its own arguments (setproctitle), so a missing last NUL is no error.
func ParseCmdline(b []byte) [][]byte {
	if len(b) == 0 {
		return nil
	}
	return bytes.Split(bytes.TrimSuffix(b, []byte{0}), []byte{0})
}

// PIDNamespace returns the inode number of the process' pid namespace.
func (p *Process) PIDNamespace() (uint64, error) {
	link, err := p.readlink("ns/pid")
	if err != nil {
		return 0, err
	}
	return parseNamespaceLink(link)
}

func parseNamespaceLink(link string) (uint64, error) {
	s, ok := strings.CutPrefix(link, "pid:[")
	s, ok2 := strings.CutSuffix(s, "]")
	n, err := strconv.ParseUint(s, 10, 64)
	if !ok || !ok2 || err != nil {
		return 0, malformed("ns/pid", "not pid:[number]")
	}
	return n, nil
}

// SharesOurMounts reports whether the process sees the same mounts as this
// program. Reading the answer needs the right to look into the process.
func (p *Process) SharesOurMounts(f FS) (bool, error) {
	theirs, err := p.readlink("ns/mnt")
	if err != nil {
		return false, err
	}
	ours, err := os.Readlink(f.Path("proc", "self", "ns", "mnt"))
	if err != nil {
		return false, classify(f.Path("proc", "self", "ns", "mnt"), err)
	}
	return ours == theirs, nil
}

// SharesOurGroups reports whether the process is in the same control groups as
// this program, in each hierarchy.
func (p *Process) SharesOurGroups(f FS) (bool, error) {
	theirs, err := p.readCold("cgroup")
	if err != nil {
		return false, goneFrom(err)
	}
	ours, err := f.readFile("proc", "self", "cgroup")
	if err != nil {
		return false, err
	}
	return bytes.Equal(ours, theirs), nil
}

// Exe returns the program file, with " (deleted)" after it where it was
// replaced. The link is read, not followed, so a hung mount cannot hold the caller.
func (p *Process) Exe() (string, error) { return p.readlink("exe") }

// Root returns the root folder of the process as this mount namespace sees it.
func (p *Process) Root() (string, error) { return p.readlink("root") }

// Inside is the way to that folder with the mounts that the process sees, any of which may hang.
func (p *Process) Inside() string { return p.path + "/root" }

func (p *Process) readlink(name string) (string, error) {
	var buf [4096]byte
	n, err := unix.Readlinkat(p.dirfd, name, buf[:])
	if err != nil {
		return "", p.missing(classify(p.path+"/"+name, err))
	}
	return string(buf[:n]), nil
}

// readCold reads a file of the process whole, through a descriptor closed at
// once.
func (p *Process) readCold(name string) ([]byte, error) {
	h, err := p.open(name)
	if err != nil {
		return nil, err
	}
	defer h.close()
	b, err := readAll(h, h.path)
	return b, p.missing(err)
}

func (p *Process) open(name string) (*hotFile, error) {
	h, err := openHotAt(p.dirfd, name, p.path+"/"+name, false)
	if err != nil {
		return nil, p.missing(err)
	}
	return h, nil
}

// Read implements io.Reader over the descriptor's own position.
func (h *hotFile) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(h.fd, b)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}
