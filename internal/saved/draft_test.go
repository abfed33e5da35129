package saved

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
