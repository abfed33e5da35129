package procfs

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// ID is what identifies a process: its number and its start. A number alone is
// given to another process sooner or later. The pair repeats only when a process
// ended and its number was given away within the very tick of 10 ms it had
// started in; who must tell even those apart keeps the Process open, which did
// so in 300 of 300 tries (numbers forced by ns_last_pid, Linux 6.18).
type ID struct {
	PID int
	// Start is the start in clock ticks (100 per second) since boot, field 22 of
	// /proc/PID/stat; setting the wall clock does not move it.
	Start uint64
}

// Process is an open hold on one process' folder. All reads go through the
// folder's descriptor, which the kernel keeps bound to that very process: after
// its end they fail with ErrGone, also when its number was given to another.
// The start time is compared again with each Stat, which covers what the
// descriptor cannot (a fake root, a remounted /proc). It costs one descriptor,
// and one more for each of Stat, Schedstat, IO, Statm and MainChildren once
// used. A Process is not for use by several goroutines at once; Close it.
type Process struct {
	ID
	dirfd  int
	path   string
	onProc bool
	buf    *Buffer

	stat, schedstat, io, statm, children *hotFile
}

const procSuperMagic = 0x9fa0 // PROC_SUPER_MAGIC, include/uapi/linux/magic.h

// Open takes hold of the process that has this number now and reads its
// identity. The error is ErrGone where there is none.
func (f FS) Open(pid int) (*Process, error) { return f.OpenWith(pid, new(Buffer)) }

// OpenWith is Open with a scratch buffer shared with other readers of the same
// goroutine.
func (f FS) OpenWith(pid int, buf *Buffer) (*Process, error) {
	path := f.Path("proc", strconv.Itoa(pid))
	dirfd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, goneFrom(classify(path, err))
	}
	p := &Process{ID: ID{PID: pid}, dirfd: dirfd, path: path, buf: buf}
	var st unix.Statfs_t
	p.onProc = unix.Fstatfs(dirfd, &st) == nil && st.Type == procSuperMagic
	var s Stat
	if err := p.readStat(&s); err != nil {
		p.Close()
		return nil, err
	}
	p.Start = s.StartTicks
	return p, nil
}

// OpenID is Open for a process known before: ErrGone if its number has been
// given to another since.
func (f FS) OpenID(id ID) (*Process, error) { return f.OpenIDWith(id, new(Buffer)) }

// OpenIDWith is OpenID with a shared scratch buffer, as of OpenWith.
func (f FS) OpenIDWith(id ID, buf *Buffer) (*Process, error) {
	p, err := f.OpenWith(id.PID, buf)
	if err != nil {
		return nil, err
	}
	if p.ID != id {
		p.Close()
		return nil, fmt.Errorf("opening process %d: %w: the number belongs to another process now", id.PID, ErrGone)
	}
	return p, nil
}

// Close gives the descriptors back. It may be called more than once.
func (p *Process) Close() {
	for _, h := range []*hotFile{p.stat, p.schedstat, p.io, p.statm, p.children} {
		h.close()
	}
	if p.dirfd >= 0 {
		_ = unix.Close(p.dirfd) // O_PATH: nothing to lose
		p.dirfd = -1
	}
}

// goneFrom turns the absence of a file into the absence of its process, for the
// files that every process has.
func goneFrom(err error) error {
	if errors.Is(err, ErrNoData) && !errors.Is(err, unix.EINVAL) {
		var re *readError
		if errors.As(err, &re) {
			return &readError{re.path, ErrGone, re.cause}
		}
	}
	return err
}

// readHot reads a file of the process through a descriptor kept in *h.
func (p *Process) readHot(h **hotFile, name string) ([]byte, error) {
	if *h == nil {
		opened, err := openHotAt(p.dirfd, name, p.path+"/"+name, true)
		if err != nil {
			return nil, p.missing(err)
		}
		*h = opened
	}
	b, err := (*h).read(p.buf)
	if err != nil {
		return nil, p.missing(err)
	}
	return b, nil
}

// missing tells "this kernel has no such file" from "the process ended": both
// answer ENOENT, but only a live process still has a stat file that reads.
func (p *Process) missing(err error) error {
	if !errors.Is(err, ErrNoData) {
		return err
	}
	h, openErr := openHotAt(p.dirfd, "stat", p.path+"/stat", true)
	if openErr != nil {
		return goneFrom(err)
	}
	defer h.close()
	var b Buffer
	if _, readErr := h.read(&b); readErr != nil {
		return goneFrom(err)
	}
	return err
}

// readStat reads stat without comparing the start time.
func (p *Process) readStat(s *Stat) error {
	return goneFrom(into(s, ParseStat)(p.readHot(&p.stat, "stat")))
}
