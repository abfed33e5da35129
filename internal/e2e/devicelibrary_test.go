//go:build e2e

package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// TestDeviceLibrary holds the stand-in GPU to what testdata/device/README.md says it models.
func TestDeviceLibrary(t *testing.T) {
	m := findMachine(t)
	s, err := newDeviceStand(m, deviceLoop{conf: "queue=8 devices=2 link-gb=10"})
	defer func() { must.Do(t, s.remove()) }()
	must.Do(t, err)
	script := must.Get(filepath.Abs("../../testdata/device/check.py"))(t)
	cmd := exec.CommandContext(t.Context(), m.python, script, s.dir)
	cmd.Env = s.environment()
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}
