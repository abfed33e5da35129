package job

import (
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// GPUChoice is what a process's environment said at its start of the GPUs that CUDA shows it. What the process changes
// later in itself, as Python does with os.environ, is not seen. The zero value says that the environment was not read.
type GPUChoice struct {
	Read bool
	// Set says that CUDA_VISIBLE_DEVICES was there, also where it was empty; Visible is its sanitized value.
	Set     bool
	Visible string
	// Order is the sanitized CUDA_DEVICE_ORDER; "" where it was not there.
	Order string
	// SameView says that the process is in pipetune's own mount namespace and control groups: what keeps GPUs from it
	// keeps them from pipetune.
	SameView bool
}

func choiceOf(fs procfs.FS, p *procfs.Process, env map[string]string) GPUChoice {
	visible, set := env["CUDA_VISIBLE_DEVICES"]
	c := GPUChoice{Read: true, Set: set, Visible: untrusted.Sanitize(visible),
		Order: untrusted.Sanitize(env["CUDA_DEVICE_ORDER"])}
	if mounts, err := p.SharesOurMounts(fs); err == nil && mounts {
		groups, err := p.SharesOurGroups(fs)
		c.SameView = err == nil && groups
	}
	return c
}
