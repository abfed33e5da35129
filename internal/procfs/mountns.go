package procfs

import (
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
