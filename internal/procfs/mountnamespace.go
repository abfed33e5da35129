package procfs

import (
	"strconv"
	"strings"
)

// MountNamespace returns the inode number of the process' mount namespace: where it differs from ours, the paths of its descriptors
// mean other files here, and are reached below /proc/PID/root.
func (p *Process) MountNamespace() (uint64, error) {
	link, err := p.readlink("ns/mnt")
	if err != nil {
		return 0, err
	}
	s, ok := strings.CutPrefix(link, "mnt:[")
	s, ok2 := strings.CutSuffix(s, "]")
	n, err := strconv.ParseUint(s, 10, 64)
	if !ok || !ok2 || err != nil {
		return 0, malformed("ns/mnt", "not mnt:[number]")
	}
	return n, nil
}
