//go:build e2e

package e2e

import (
	"os/exec"
	"testing"
)

// TestDeviceLibrary holds the stand-in GPU to what testdata/device/README.md says it models.
func TestDeviceLibrary(t *testing.T) {
	m := findMachine(t)
	s := newDeviceStand(t, m, deviceLoop{conf: "queue=8 devices=2 link-gb=10"})
	cmd := exec.CommandContext(m.ctx, m.python, "../../testdata/device/check.py", s.dir)
	cmd.Env = s.environment()
	output(t, cmd)
}
