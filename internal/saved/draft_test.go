package saved

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

// TestDraftStaysInItsFolder swaps the folder for a link to another while a file is being written.
func TestDraftStaysInItsFolder(t *testing.T) {
	within := t.TempDir()
	ours, theirs, moved := filepath.Join(within, "ours"), filepath.Join(within, "theirs"),
		filepath.Join(within, "moved")
	for _, dir := range []string{ours, theirs} {
		must.Do(t, os.Mkdir(dir, 0o755))
	}
	d := must.Get(Create(filepath.Join(ours, "x.json")))(t)
	must.Do(t, os.Rename(ours, moved))
	must.Do(t, os.Symlink(theirs, ours))
	_, err := d.WriteString("ours")
	must.Do(t, d.Settle(err))
	onlyFiles(t, theirs)
	if b, err := os.ReadFile(filepath.Join(moved, "x.json")); err != nil || string(b) != "ours" {
		t.Errorf("%q, %v", b, err)
	}
	onlyFiles(t, moved, "x.json")
}

// TestDraftSaysWhenItWasReplaced puts somebody else's link under the temporary name before it gets its own.
func TestDraftSaysWhenItWasReplaced(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(t.TempDir(), "victim")
	must.Do(t, os.WriteFile(victim, []byte("untouched"), 0o600))
	d := must.Get(Create(filepath.Join(dir, "x.json")))(t)
	must.Do(t, os.Remove(d.Name()))
	must.Do(t, os.Symlink(victim, d.Name()))
	_, err := d.WriteString("ours")
	if err := d.Settle(err); err == nil || !strings.Contains(err.Error(), "somebody else") {
		t.Errorf("got %v", err)
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "untouched" {
		t.Errorf("the victim holds %q, %v", b, err)
	}
}

// onlyFiles expects exactly these names in a folder, hidden ones included.
func onlyFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	var got []string
	for _, e := range must.Get(os.ReadDir(dir))(t) {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("files %v, want %v", got, want)
	}
}

// TestRecordingOnAFullDisk: whole lines until then are kept under the temporary name, and the error names it.
func TestRecordingOnAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	r := must.Get(CreateRecording(path))(t)
	must.Get(r.Write([]byte("{\"a\":1}\n")))(t)
	var limit unix.Rlimit
	must.Do(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &limit))
	narrow := limit
	narrow.Cur = 12 // bytes: the next line is torn after its fourth
	must.Do(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &narrow))
	_, err := r.Write([]byte("{\"b\":2}\n"))
	if err == nil {
		_, err = r.Write([]byte("{\"c\":3}\n"))
	}
	must.Do(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &limit))
	if err == nil {
		t.Fatal("no error although the file may not grow")
	}
	kept := r.draft.Name()
	err = r.Finish()
	var said *KeptError
	if !errors.As(err, &said) || said.Kept != kept || !errors.Is(err, unix.EFBIG) {
		t.Errorf("got %v", err)
	}
	if b, err := os.ReadFile(kept); err != nil || string(b) != "{\"a\":1}\n" {
		t.Errorf("kept %q, %v", b, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the recording has its name although it is not whole: %v", err)
	}
}
