package procfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pipetune/pipetune/internal/procfs/fakeroot"
)

// fixture unpacks one machine of testdata/proc.
func fixture(t testing.TB, name string) FS {
	t.Helper()
	archive, err := os.ReadFile(filepath.Join("../../testdata/proc", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := fakeroot.Unpack(archive, dir); err != nil {
		t.Fatal(err)
	}
	return FS{Root: dir}
}

// open opens a process of a fixture and closes it with the test.
func open(t testing.TB, f FS, pid int) *Process {
	t.Helper()
	p, err := f.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}
