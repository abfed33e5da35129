package procfs

import (
	"bytes"
	"io"
	"slices"
)

// Addresses is a stretch of a process' addresses; To is the first one after it.
type Addresses struct{ From, To uint64 }

// Mapping is a stretch of a process' addresses with the file mapped there, a name in brackets ([vdso]), or "" for
// memory without one, as compiled at run time.
type Mapping struct {
	Addresses
	Path string
}

// Statics are where the static data of some of a process' files lie. The zero
// value is nowhere.
type Statics []Addresses

// Has reports whether an address is one of static data.
func (s Statics) Has(address uint64) bool {
	return slices.ContainsFunc(s, func(a Addresses) bool { return a.From <= address && address < a.To })
}

// Statics returns the static data of the mapped files for which keep is true:
// what is mapped of them to be written, and the memory without a name that
// follows without a gap (.bss). Like MappedFiles it takes the target's mmap
// lock for reading and may hang: not for the loop.
func (p *Process) Statics(keep func(path string) bool) (Statics, error) {
	return readMaps(p, func(r io.Reader) ([]Addresses, error) { return ParseStatics(r, keep) })
}

// maxStatics bounds what is kept: an interpreter and its library have two each.
const maxStatics = 64

// ParseStatics is the parser of Statics, for proc_pid_maps(5). Lines of another
// shape are passed over.
func ParseStatics(r io.Reader, keep func(path string) bool) ([]Addresses, error) {
	var out []Addresses
	var last uint64 // where the data end whose .bss may follow; 0 = nowhere
	err := eachMapping(r, func(line []byte) bool {
		m, perms, ok := parseMapping(line)
		switch {
		case !ok || bytes.IndexByte(perms, 'w') < 0:
			last = 0
		case m.Path != "" && keep(m.Path), m.Path == "" && m.From == last && last != 0:
			out = append(out, m.Addresses)
			if last = m.To; m.Path == "" {
				last = 0
			}
		default:
			last = 0
		}
		return len(out) < maxStatics
	})
	return out, err
}

// parseMapping parses "from-to perms offset dev inode path".
func parseMapping(line []byte) (m Mapping, perms []byte, ok bool) {
	addresses, rest := nextField(line)
	perms, rest = nextField(rest)
	low, high, _ := bytes.Cut(addresses, []byte{'-'})
	from, ok := parseHex(low)
	to, ok2 := parseHex(high)
	if !ok || !ok2 || to <= from {
		return Mapping{}, nil, false
	}
	for range 3 { // offset, device, inode
		_, rest = nextField(rest)
	}
	return Mapping{Addresses{from, to}, unescapeOctal(string(bytes.TrimLeft(rest, " ")))}, perms, true
}
