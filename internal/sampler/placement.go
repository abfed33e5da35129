package sampler

import (
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/procfs"
)

// Placement says which block devices hold the job's data. The data becomes known while the job is watched, so the paths
// are asked for again and again. It belongs to the goroutine that samples.
type Placement struct {
	fs     procfs.FS
	target procfs.ID
	paths  func() []string

	seen    []string
	storage []procfs.Storage
	devices []procfs.BlockDevice
	err     error
	// generation grows with each new resolution, for those that share a Placement.
	generation int
}

// NewPlacement resolves the paths of a job's process as that process sees them: in a container its mounts differ from
// ours. paths returns absolute paths without symbolic links, as /proc/PID/fd gives them; they are compared with the
// mount table and never opened.
func NewPlacement(fs procfs.FS, target procfs.ID, paths func() []string) *Placement {
	return &Placement{fs: fs, target: target, paths: paths}
}

// refresh resolves again where the paths changed.
func (p *Placement) refresh() {
	paths := p.paths()
	if slices.Equal(paths, p.seen) {
		return
	}
	p.seen = slices.Clone(paths)
	p.generation++
	p.storage, p.devices, p.err = nil, nil, nil
	if len(paths) == 0 {
		return
	}
	mounts, err := p.fs.MountsSeenBy(p.target)
	if err != nil {
		p.err = err
		return
	}
	for _, path := range paths {
		s, err := p.fs.StorageOf(mounts, strings.TrimSuffix(path, " (deleted)"))
		if err != nil {
			p.err = err
			continue
		}
		p.storage = append(p.storage, s)
		for _, d := range s.Devices {
			same := func(have procfs.BlockDevice) bool { return have.Name == d.Name }
			if !slices.ContainsFunc(p.devices, same) {
				p.devices = append(p.devices, d)
			}
		}
	}
}
