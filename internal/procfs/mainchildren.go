package procfs

import (
	"errors"
	"strconv"
)

// MainChildren reads, again and again, the children that the first thread of a process started: its descriptor stays open, so one
// look costs two reads. Children started by other threads are seen only by Process.Children. Close it before the Process.
type MainChildren struct {
	p *Process
	h *hotFile
}

// MainChildren opens the list of children of the first thread. ErrNoData says that the kernel was built without
// CONFIG_PROC_CHILDREN.
func (p *Process) MainChildren() (*MainChildren, error) {
	name := "task/" + strconv.Itoa(p.PID) + "/children"
	h, err := openHotAt(p.dirfd, name, p.path+"/"+name, false)
	if err != nil {
		return nil, p.missing(err)
	}
	return &MainChildren{p: p, h: h}, nil
}

// Read appends the numbers of the children to dst; ErrGone after the end of the process.
func (c *MainChildren) Read(dst []int) ([]int, error) {
	b, err := c.h.read(c.p.buf)
	if err != nil {
		if errors.Is(err, ErrNoData) {
			return dst, goneFrom(err)
		}
		return dst, err
	}
	return ParseChildren(b, dst)
}

// Close gives the descriptor back.
func (c *MainChildren) Close() { c.h.close() }
