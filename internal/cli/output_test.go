package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/pkg/report"
)

// TestFailedWriteKeepsTheOldFile: a format that fails half-way leaves the file that was there, and nothing else.
func TestFailedWriteKeepsTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "report.md")
	must.Do(t, os.WriteFile(path, []byte("old"), 0o644))
	full := render.Format{Write: func(w io.Writer, _ render.Subject, _ render.Options) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		return unix.ENOSPC
	}}
	err := output{path: path, format: full}.write(render.Report(&report.Report{}))
	if !errors.Is(err, unix.ENOSPC) || exitCode(err) != exitUsage || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v (exit %d)", err, exitCode(err))
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "old" {
		t.Errorf("the old file holds %q, %v", b, err)
	}
	onlyFiles(t, dir, "report.md")
}

func TestNodeNames(t *testing.T) {
	vars := map[string]string{"SLURM_JOB_ID": "47/11", "SLURM_NODEID": "3", "GROUP_RANK": "1"}
	env := Env{Getenv: func(name string) string { return vars[name] }}
	got := must.Get(nodeNames(env, []string{"a/%j-%n.json", "%p.md", "100%%.txt", "50%.md", "%x%"}))(t)
	if d := cmp.Diff([]string{"a/47_11-1.json", fmt.Sprint(os.Getpid(), ".md"), "100%.txt", "50%.md", "%x%"},
		got); d != "" {
		t.Error(d)
	}
	clear(vars)
	for _, name := range []string{"%j.json", "%n.json"} {
		if _, err := nodeNames(env, []string{name}); exitCode(err) != exitUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := must.Get(nodeNames(env, []string{"%h.json"}))(t); got[0] == "%h.json" || got[0] == ".json" {
		t.Errorf("%q", got)
	}
}
