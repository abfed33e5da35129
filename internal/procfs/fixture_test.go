package procfs

import (
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs/fakeroot"
)

// fixture unpacks one machine of testdata/proc.
func fixture(t testing.TB, name string) FS {
	t.Helper()
	return FS{Root: fakeroot.Machine(t, name).Dir}
}

// open opens a process of a fixture and closes it with the test.
func open(t testing.TB, f FS, pid int) *Process {
	t.Helper()
	p := must.Get(f.Open(pid))(t)
	t.Cleanup(p.Close)
	return p
}
