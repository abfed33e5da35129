package sampler

import (
	"slices"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/procfs"
)

// gpuChoice is which GPUs are to be opened. To open one makes the driver start it, so those of others are left alone
// where it can be determined which are the job's.
type gpuChoice struct {
	wanted map[string]bool // by place; none before the job was inspected
	failed map[string]bool // hung or ended the child: not tried again
	tree   *job.Tree       // that was inspected last; nil where the GPUs are new
	rest   int             // calls until it is inspected again
}

// chooseEvery is after how many calls of Sample the job is inspected again though its processes are the same: one may
// have begun to use a GPU. 5 s.
const chooseEvery = 25

// next returns the next GPU to open that was not tried.
func (g *GPU) next(tried map[string]bool) (place string, found bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range g.found {
		if g.choice.wanted[d.Place] && !g.choice.failed[d.Place] && !tried[d.Place] {
			return d.Place, true
		}
	}
	return "", false
}

func (g *GPU) giveUp(place string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.choice.failed[place] = true
}

// choose notes which GPUs the environment lets each process use that may use one: trainers, and who was found with a
// GPU's library or device. Those are to be opened that such a process has open and may use, or where none can be told
// to be the job's, all. What was chosen once stays.
func (g *GPU) choose() {
	tree := g.members.Tree()
	if len(g.found) == 0 || g.choice.tree == tree && g.choice.rest > 0 {
		g.choice.rest--
		return
	}
	g.choice.tree, g.choice.rest = tree, chooseEvery
	for _, p := range tree.Processes {
		if p.Role != job.Trainer && !p.OnGPU {
			continue
		}
		var may allowance
		may.uuids, may.certain = visibleGPUs(p.GPUs, g.found)
		g.mayUse[p.ID] = may
		minors := g.devices(p.ID)
		for _, d := range g.found {
			held := d.Minor != nil && minors[*d.Minor] || len(minors) == 0 && may.certain
			if held && (!may.certain || slices.Contains(may.uuids, d.UUID)) {
				g.choice.wanted[d.Place] = true
			}
		}
	}
	if len(g.choice.wanted) == 0 {
		for _, d := range g.found {
			g.choice.wanted[d.Place] = true
		}
	}
}

// maxDeviceFDs bounds how many descriptors of a process are read: CUDA opens its devices at its start, so
// they are among the first.
const maxDeviceFDs = 512

// openMinors returns the minor numbers of the NVIDIA device files that a process has open: of all that CUDA has shown
// it, whether it computes on them or not. None where it has none, or they cannot be read.
func openMinors(fs procfs.FS, id procfs.ID) map[int]bool {
	p, err := fs.OpenID(id)
	if err != nil {
		return nil
	}
	defer p.Close()
	fds, _, err := p.FDs(maxDeviceFDs)
	if err != nil {
		return nil
	}
	minors := map[int]bool{}
	for _, fd := range fds {
		if n, ok := job.NVIDIAMinor(fd.Target); ok {
			minors[n] = true
		}
	}
	return minors
}
