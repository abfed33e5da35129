package procfs

import (
	"bytes"
	"cmp"
	"io"
	"slices"
)

// Code returns what the process may execute, in the order of the addresses.
// Like MappedFiles it takes the target's mmap lock for reading and may hang:
// not for the loop.
func (p *Process) Code() ([]Mapping, error) { return readMaps(p, ParseCode) }

// maxCodeRanges bounds what is kept: a torch process has some 400.
const maxCodeRanges = 1 << 16

// ParseCode is the parser of Code, for proc_pid_maps(5). Lines of another shape
// and ranges that may not be executed are passed over.
func ParseCode(r io.Reader) ([]Mapping, error) {
	var out []Mapping
	err := eachMapping(r, func(line []byte) bool {
		if m, perms, ok := parseMapping(line); ok && bytes.IndexByte(perms, 'x') >= 0 {
			out = append(out, m)
		}
		return len(out) < maxCodeRanges
	})
	slices.SortFunc(out, func(a, b Mapping) int { return cmp.Compare(a.From, b.From) })
	return out, err
}
