//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

var pythonBlock = regexp.MustCompile("(?s)```python\n(.*?)```")

// TestTrackers runs the lines of docs/live.md that hand a report to Weights & Biases and to MLflow, as they stand
// there, without a server, and looks at what these wrote. PYTHON names an interpreter that has both.
func TestTrackers(t *testing.T) {
	python := os.Getenv("PYTHON")
	_, text, found := strings.Cut(string(must.Get(os.ReadFile("../../docs/live.md"))(t)), "## Experiment trackers")
	blocks := pythonBlock.FindAllStringSubmatch(text, -1)
	if !found || len(blocks) != 2 {
		t.Fatalf("docs/live.md has %d blocks of Python for trackers, want 2", len(blocks))
	}
	sample := must.Get(os.ReadFile("../../testdata/reports/reopened.json"))(t)
	for _, tracker := range []struct{ module, wrote string }{
		{"wandb", "wandb/offline-run-*/run-*.wandb"}, {"mlflow", "mlruns/0/*/metrics/pipetune.input_wait_ratio"},
	} {
		t.Run(tracker.module, func(t *testing.T) {
			dir := t.TempDir()
			must.Do(t, os.WriteFile(filepath.Join(dir, "run.json"), sample, 0o644))
			for _, b := range blocks {
				if !strings.Contains(b[1], "import json, "+tracker.module) {
					continue
				}
				cmd := exec.CommandContext(t.Context(), python, "-W", "ignore", "-c", b[1])
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "WANDB_MODE=offline", "WANDB_SILENT=true",
					"MLFLOW_TRACKING_URI=file:./mlruns", "MLFLOW_ALLOW_FILE_STORE=true", "HOME="+dir,
					"GIT_PYTHON_REFRESH=quiet")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			if files := must.Get(filepath.Glob(filepath.Join(dir, tracker.wrote)))(t); len(files) != 1 {
				t.Errorf("%s is not there: %v", tracker.wrote, must.Get(filepath.Glob(filepath.Join(dir, "*/*")))(t))
			}
		})
	}
}
