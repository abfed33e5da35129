package procfs

import (
	"errors"
	"slices"
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
		name := "task/" + strconv.Itoa(tid) + "/children"
		h, err := openHotAt(p.dirfd, name, p.path+"/"+name, false)
		if err == nil {
			var b []byte
			b, err = h.read(p.buf)
			h.close()
			if err == nil {
				dst, err = ParseChildren(b, dst)
			}
		}
		switch {
		case err == nil, errors.Is(err, ErrGone):
		case errors.Is(err, ErrNoData):
			if p.hasTask(tid) {
				return dst, err
			}
		default:
			return dst, err
		}
	}
	return dst, nil
}

// hasTask tells a thread that ended from a kernel without the file.
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

// maxDescendants bounds a tree walk; pid_max of a large machine is 4 Mi, a
// training job has hundreds.
const maxDescendants = 1 << 16

// Descendants returns every process below pid, in ascending order of number.
// It walks the children files, which costs only the job's own tree, and falls
// back to a full Table where the kernel lacks them.
func (f FS) Descendants(pid int) ([]ID, error) {
	ids, err := f.walk(pid)
	if errors.Is(err, ErrNoData) {
		table, tableErr := f.Table()
		if tableErr != nil {
			return nil, tableErr
		}
		ids = nil
		for _, e := range table.Descendants(pid) {
			ids = append(ids, e.ID)
		}
	} else if err != nil {
		return nil, err
	}
	slices.SortFunc(ids, func(a, b ID) int { return a.PID - b.PID })
	return ids, nil
}

func (f FS) walk(root int) ([]ID, error) {
	var ids []ID
	var buf Buffer
	seen := map[int]bool{root: true}
	queue := []int{root}
	for i := 0; i < len(queue) && len(queue) < maxDescendants; i++ {
		p, err := f.OpenWith(queue[i], &buf)
		if err != nil {
			if i > 0 && errors.Is(err, ErrGone) {
				continue
			}
			return nil, err
		}
		if i > 0 {
			ids = append(ids, p.ID)
		}
		kids, err := p.Children(nil)
		p.Close()
		if err != nil && !errors.Is(err, ErrGone) {
			return nil, err
		}
		for _, kid := range kids {
			if !seen[kid] {
				seen[kid] = true
				queue = append(queue, kid)
			}
		}
	}
	return ids, nil
}
