package procfs

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Mount is one line of mountinfo (proc_pid_mountinfo(5)), with the escapes
// undone. All texts are unclean.
type Mount struct {
	ID, Parent int
	Device     Device
	// Root is the folder of the file system that is mounted here: "/" unless it
	// is a bind mount or a cgroup of a container.
	Root  string
	Point string
	// FSType is the type and subtype, such as "fuse.sshfs".
	FSType       string
	Source       string
	SuperOptions string
}

// Mounts reads the mounts that this program sees, in a chroot too.
func (f FS) Mounts() ([]Mount, error) {
	b, err := f.readFile("proc", "self", "mountinfo")
	if err != nil {
		return nil, err
	}
	mounts, err := ParseMounts(b)
	return withRoot(mounts, f.ownRoot), err
}

// Mounts reads the mounts that the process sees, which differ from ours where
// it runs in a container or in a chroot; f is where it was opened.
func (p *Process) Mounts(f FS) ([]Mount, error) {
	b, err := p.readCold("mountinfo")
	if err != nil {
		return nil, goneFrom(err)
	}
	mounts, err := ParseMounts(b)
	return withRoot(mounts, func() (Mount, bool) { return p.rootIn(f) }), err
}

// MountsSeenBy reads the mounts that the process sees, or ours where it ended or
// hides them.
func (f FS) MountsSeenBy(id ID) ([]Mount, error) {
	p, err := f.OpenID(id)
	if err == nil {
		defer p.Close()
		var mounts []Mount
		if mounts, err = p.Mounts(f); err == nil && len(mounts) > 0 {
			return mounts, nil
		}
	}
	own, ownErr := f.Mounts()
	if ownErr != nil {
		return nil, errors.Join(err, ownErr)
	}
	return own, nil
}

// ParseMounts parses mountinfo.
func ParseMounts(b []byte) (out []Mount, err error) {
	err = eachLine(b, "mountinfo", func(line []byte) bool {
		m, ok := parseMount(line)
		out = append(out, m)
		return ok
	})
	return out, emptied(&out, err)
}

func parseMount(line []byte) (Mount, bool) {
	head, tail, ok := bytes.Cut(line, []byte(" - "))
	if !ok {
		return Mount{}, false
	}
	h := strings.Split(string(head), " ")
	// The source may be empty, which leaves two blanks in a row.
	t := strings.SplitN(string(tail), " ", 3)
	if len(h) < 6 || len(t) < 2 {
		return Mount{}, false
	}
	id, ok1 := parseCount([]byte(h[0]))
	parent, ok2 := parseCount([]byte(h[1]))
	dev, ok3 := parseDevice(h[2])
	if !ok1 || !ok2 || !ok3 {
		return Mount{}, false
	}
	m := Mount{
		ID: int(id), Parent: int(parent), Device: dev,
		Root: unescapeOctal(h[3]), Point: unescapeOctal(h[4]),
		FSType: unescapeOctal(t[0]), Source: unescapeOctal(t[1]),
	}
	if len(t) == 3 {
		m.SuperOptions = unescapeOctal(t[2])
	}
	return m, true
}

func parseDevice(s string) (Device, bool) {
	major, minor, ok := strings.Cut(s, ":")
	ma, err1 := strconv.ParseUint(major, 10, 32)
	mi, err2 := strconv.ParseUint(minor, 10, 32)
	return Device{uint32(ma), uint32(mi)}, ok && err1 == nil && err2 == nil
}

// String returns "major:minor".
func (d Device) String() string {
	return strconv.FormatUint(uint64(d.Major), 10) + ":" + strconv.FormatUint(uint64(d.Minor), 10)
}

// MountOf returns the mount that a clean absolute path lies on, walking down
// from the root mount as the kernel does, so that a mount hidden under a later
// one does not count. Symbolic links must have been resolved by the caller.
// Where the list has no root mount, the longest matching one stands.
func MountOf(mounts []Mount, path string) (Mount, bool) {
	cur := slices.IndexFunc(mounts, func(m Mount) bool {
		return m.Point == "/" && (m.Parent == m.ID ||
			!slices.ContainsFunc(mounts, func(parent Mount) bool { return parent.ID == m.Parent }))
	})
	if cur < 0 {
		return longestMount(mounts, path)
	}
	for range mounts {
		next := -1
		for i, m := range mounts {
			if i == cur || m.Parent != mounts[cur].ID || !below(path, m.Point) {
				continue
			}
			// The shortest is met first on the way down.
			if next < 0 || len(m.Point) < len(mounts[next].Point) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		cur = next
	}
	return mounts[cur], true
}

func longestMount(mounts []Mount, path string) (Mount, bool) {
	best := -1
	for i, m := range mounts {
		if below(path, m.Point) && (best < 0 || len(m.Point) >= len(mounts[best].Point)) {
			best = i
		}
	}
	if best < 0 {
		return Mount{}, false
	}
	return mounts[best], true
}

// below reports that path is dir or lies in it.
func below(path, dir string) bool {
	if dir == "/" {
		return strings.HasPrefix(path, "/")
	}
	return path == dir || (strings.HasPrefix(path, dir) && path[len(dir)] == '/')
}
