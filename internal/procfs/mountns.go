package procfs

import (
	"bytes"
	"os"
)

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
