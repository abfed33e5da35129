package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/pkg/report"
)

func emptyReport() *report.Report {
	return &report.Report{Schema: report.Schema, SchemaVersion: report.SchemaVersion, Kind: "diagnose"}
}

// TestFailedWriteKeepsTheOldFile: a format that fails half-way leaves the file that was there, and nothing else.
func TestFailedWriteKeepsTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "report.md")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	full := render.Format{Write: func(w io.Writer, _ render.Subject, _ render.Options) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		return unix.ENOSPC
	}}
	err := output{path: path, format: full}.write(render.Report(emptyReport()))
	if !errors.Is(err, unix.ENOSPC) || exitCode(err) != exitUsage || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v (exit %d)", err, exitCode(err))
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "old" {
		t.Errorf("the old file holds %q, %v", b, err)
	}
	onlyFiles(t, dir, "report.md")
}

// TestRecordingOnAFullDisk: whole lines until the disk was full are kept under the temporary name, and the error names
// it.
func TestRecordingOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	r, err := createRecording(filepath.Join(dir, "run.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Write([]byte("{\"a\":1}\n")); err != nil {
		t.Fatal(err)
	}
	var limit, narrow unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	narrow = limit
	narrow.Cur = 12 // bytes: the next line is torn after its fourth
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &narrow); err != nil {
		t.Fatal(err)
	}
	_, err = r.Write([]byte("{\"b\":2}\n"))
	if err == nil {
		_, err = r.Write([]byte("{\"c\":3}\n"))
	}
	if restore := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); restore != nil {
		t.Fatal(restore)
	}
	if err == nil {
		t.Fatal("no error although the file may not grow")
	}
	kept := r.f.Name()
	err = r.finish()
	var f *failure
	if !errors.As(err, &f) || f.code != exitUsage || !strings.Contains(f.hint, kept) {
		t.Errorf("got %v", err)
	}
	if b, err := os.ReadFile(kept); err != nil || string(b) != "{\"a\":1}\n" {
		t.Errorf("kept %q, %v", b, err)
	}
	if _, err := os.Stat(r.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the recording has its name although it is not whole: %v", err)
	}
}

// TestOutputsAreCheckedBefore: a folder that cannot be written to is reported before a minute is spent.
func TestOutputsAreCheckedBefore(t *testing.T) {
	for _, path := range []string{"/nowhere/x.md", "/proc/x.md", "/sys/x.json"} {
		if err := (output{path: path}).check(); exitCode(err) != exitUsage {
			t.Errorf("%s: %v", path, err)
		}
	}
	dir := t.TempDir()
	if err := (output{path: filepath.Join(dir, "x.md")}).check(); err != nil {
		t.Error(err)
	}
	onlyFiles(t, dir)
}
