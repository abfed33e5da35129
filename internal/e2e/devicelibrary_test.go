//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// TestDeviceLibrary holds the stand-in GPU to what testdata/device/README.md says it models.
func TestDeviceLibrary(t *testing.T) {
	m := findMachine(t)
	s := newDeviceStand(t, m, deviceLoop{conf: "queue=8 devices=2 link-gb=10"})
	cmd := exec.CommandContext(m.ctx, m.python, "../../testdata/device/check.py", s.dir)
	cmd.Env = s.environment()
	output(t, cmd)
}

// TestGPUProof runs what scripts/gpu-proof does on a machine with a GPU, on the stand-in: that it comes to a table,
// with recordings, and leaves nothing behind. What is said of loops is TestDevice's.
func TestGPUProof(t *testing.T) {
	m, out := findMachine(t), t.TempDir()
	cmd := exec.CommandContext(t.Context(), "../../scripts/gpu-proof", out)
	cmd.Env = append(os.Environ(), "STAND_IN=1", "GPU_PROOF_WATCH=8", "PIPETUNE_BIN="+m.binary, "PYTHON="+m.python)
	said := output(t, cmd)
	table := must.Get(os.ReadFile(filepath.Join(out, "table.md")))(t)
	for _, row := range []string{
		"| keeps-up | attached |", "| keeps-up | launched |", "| input | attached |", "| input | launched |",
	} {
		if !strings.Contains(string(table), row) {
			t.Errorf("the table has no row %s:\n%s\n%s", row, table, said)
		}
	}
	for _, name := range []string{"checks.json", "doctor.txt", "log", "recordings.tar.gz"} {
		if !isFile(filepath.Join(out, name)) {
			t.Errorf("there is no %s", name)
		}
	}
	if left, err := filepath.Glob("/dev/shm/pipetune-gpu-proof-*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
