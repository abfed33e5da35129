package procfs

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Task is an open hold on one thread, with the same guarantee as Process. It
// keeps one descriptor for each of stat, schedstat, syscall, wchan and io once
// used. Close it.
type Task struct {
	TID int
	// Start is the thread's own start in clock ticks since boot.
	Start  uint64
	prefix string
	p      *Process

	stat, schedstat, syscall, wchan, io *hotFile
}

// Threads appends the numbers of the process' threads to dst.
func (p *Process) Threads(dst []int) ([]int, error) {
	h, err := openHotAt(p.dirfd, "task", p.path+"/task", false)
	if err == nil {
		defer h.close()
		dst, _, err = h.numericNames(dst, p.buf, maxPID, false)
	}
	return dst, goneFrom(err)
}

// Task takes hold of one thread of the process.
func (p *Process) Task(tid int) (*Task, error) {
	t := &Task{TID: tid, p: p, prefix: "task/" + strconv.Itoa(tid) + "/"}
	var s Stat
	if err := t.readStat(&s); err != nil {
		t.Close()
		return nil, err
	}
	t.Start = s.StartTicks
	return t, nil
}

// Close gives the descriptors back. It may be called more than once.
func (t *Task) Close() {
	for _, h := range []*hotFile{t.stat, t.schedstat, t.syscall, t.wchan, t.io} {
		h.close()
	}
}

// Stat reads the state and CPU time of this thread alone.
func (t *Task) Stat(s *Stat) error {
	if err := t.readStat(s); err != nil {
		return err
	}
	if s.StartTicks != t.Start {
		*s = Stat{}
		return &readError{t.p.path + "/" + t.prefix + "stat", ErrGone, unix.ESRCH}
	}
	return nil
}

func (t *Task) readStat(s *Stat) error {
	return goneFrom(into(s, ParseStat)(t.p.readHot(&t.stat, t.prefix+"stat")))
}

// read reads a file that a kernel may lack. A thread can end while its process
// lives on, and then has no such file either.
func (t *Task) read(h **hotFile, name string) ([]byte, error) {
	if *h == nil {
		// The name is joined only once, because a look must not make garbage.
		name = t.prefix + name
	}
	b, err := t.p.readHot(h, name)
	if errors.Is(err, ErrNoData) && !t.p.hasTask(t.TID) {
		return nil, goneFrom(err)
	}
	return b, err
}

// Schedstat reads this thread's exact CPU time and run delay.
func (t *Task) Schedstat(s *Schedstat) error {
	return into(s, ParseSchedstat)(t.read(&t.schedstat, "schedstat"))
}

// IO reads the I/O account of this thread alone. Reading it needs what
// Process.IO needs.
func (t *Task) IO(io *IO) error { return into(io, ParseIO)(t.read(&t.io, "io")) }

// Syscall reads which system call the thread waits in.
func (t *Task) Syscall(s *Syscall) error { return into(s, ParseSyscall)(t.read(&t.syscall, "syscall")) }

// Wchan returns the kernel function in which the thread sleeps, "" while it
// runs. The bytes are valid until the next read with the same Buffer. Where the
// caller may not see it, or the kernel keeps no symbols, the error is
// ErrNoData: the kernel prints 0 for a running thread and for both of these, so
// state R must be known from elsewhere to distinguish them.
func (t *Task) Wchan() ([]byte, error) {
	b, err := t.read(&t.wchan, "wchan")
	return bytes.TrimSuffix(b, newline), err
}

// Comm returns the thread's name, unclean.
func (t *Task) Comm() (string, error) {
	b, err := t.p.readCold(t.prefix + "comm")
	return strings.TrimSuffix(string(b), "\n"), goneFrom(err)
}
