package procfs

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// Children appends the numbers of the process' direct children to dst, from
// task/*/children. ErrNoData says that the kernel was built without
// CONFIG_PROC_CHILDREN. The kernel's list may miss a child while a sibling
// before it ends (proc_tid_children(5)): a caller that watches looks again.
func (p *Process) Children(dst []int) ([]int, error) {
	tids, err := p.Threads(nil)
	if err != nil {
		return dst, err
	}
	for _, tid := range tids {
		b, err := p.readCold("task/" + strconv.Itoa(tid) + "/children")
		if err == nil {
			dst, err = ParseChildren(b, dst)
		}
		switch {
		case err == nil, errors.Is(err, ErrGone):
		case !errors.Is(err, ErrNoData) || p.hasTask(tid):
			return dst, err
		}
	}
	return dst, nil
}

// hasTask distinguishes a thread that ended from a kernel without the file.
func (p *Process) hasTask(tid int) bool {
	var st unix.Stat_t
	return unix.Fstatat(p.dirfd, "task/"+strconv.Itoa(tid), &st, 0) == nil
}

// ParseChildren parses blank-separated process numbers. The kernel ends the
// list with a blank and no newline, so a number at the very end is cut.
func ParseChildren(b []byte, dst []int) ([]int, error) {
	if len(b) > 0 && b[len(b)-1] != ' ' && b[len(b)-1] != '\n' {
		return dst, malformed("children", "cut")
	}
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	for {
		var field []byte
		if field, b = nextField(b); len(field) == 0 {
			return dst, nil
		}
		n, ok := parseCount(field)
		if !ok || n == 0 || n > maxPID {
			return dst, malformed("children", "not a process number")
		}
		dst = append(dst, int(n))
	}
}

// MainChildren appends the numbers of the children that the first thread of the process started to dst; those of other
// threads are seen only by Children, whose ErrNoData means the same. It is for looking again and again: the descriptor
// stays open, so that a look costs two reads.
func (p *Process) MainChildren(dst []int) ([]int, error) {
	if p.children == nil {
		opened, err := p.open("task/" + strconv.Itoa(p.PID) + "/children")
		if err != nil {
			return dst, err
		}
		p.children = opened
	}
	b, err := p.children.read(p.buf)
	if err != nil {
		return dst, goneFrom(err)
	}
	return ParseChildren(b, dst)
}
