package procfs

import (
	"cmp"
	"io"
	"slices"
)

// CodeRange is a stretch of a process' addresses that may be executed.
type CodeRange struct {
	From, To uint64 // To is the first address after it
	// Path is the file mapped there, a name in brackets ([vdso]), or "" for
	// memory without one, as compiled at run time.
	Path string
}

// Code returns what the process may execute, in the order of the addresses.
// Like MappedFiles it takes the target's mmap lock for reading and may hang:
// not for the loop.
func (p *Process) Code() ([]CodeRange, error) { return readMaps(p, ParseCode) }

// maxCodeRanges bounds what is kept: a torch process has some 400.
const maxCodeRanges = 1 << 16

// ParseCode is the parser of Code, for proc_pid_maps(5). Lines of another shape
// and ranges that may not be executed are passed over.
func ParseCode(r io.Reader) ([]CodeRange, error) {
	var out []CodeRange
	err := eachMapping(r, func(line []byte) bool {
		if m, ok := parseMapping(line); ok && len(m.perms) > 2 && m.perms[2] == 'x' {
			out = append(out, CodeRange{From: m.From, To: m.To, Path: m.path})
		}
		return len(out) < maxCodeRanges
	})
	slices.SortFunc(out, func(a, b CodeRange) int { return cmp.Compare(a.From, b.From) })
	return out, err
}
