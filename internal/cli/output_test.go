package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// TestOutputsAreCheckedBefore: a folder that cannot be written to is reported before a minute is spent.
func TestOutputsAreCheckedBefore(t *testing.T) {
	for _, path := range []string{"/nowhere/x.md", "/proc/x.md", "/sys/x.json"} {
		if err := (output{path: path}).check(); exitCode(err) != exitUsage {
			t.Errorf("%s: %v", path, err)
		}
	}
	dir := t.TempDir()
	must.Do(t, output{path: filepath.Join(dir, "x.md")}.check())
	onlyFiles(t, dir)
}
