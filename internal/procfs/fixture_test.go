package procfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs/fakeroot"
)

// fixture unpacks one machine of testdata/proc.
func fixture(t testing.TB, name string) FS {
	t.Helper()
	archive := must.Get(os.ReadFile(filepath.Join("../../testdata/proc", name+".txtar")))(t)
	dir := t.TempDir()
	must.Do(t, fakeroot.Unpack(archive, dir))
	return FS{Root: dir}
}

// open opens a process of a fixture and closes it with the test.
func open(t testing.TB, f FS, pid int) *Process {
	t.Helper()
	p := must.Get(f.Open(pid))(t)
	t.Cleanup(p.Close)
	return p
}
