package procfs

import (
	"errors"
	"os"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// TestEndedThreadIsGone tells a thread that ended while its process lives on from a kernel without the file.
func TestEndedThreadIsGone(t *testing.T) {
	f := fixture(t, "debian12-hybrid")
	p := open(t, f, 19868)
	task := must.Get(p.Task(19873))(t)
	defer task.Close()
	dir := f.Path("proc", "19868", "task", "19873")
	must.Do(t, os.Remove(dir+"/syscall"))
	if err := task.Syscall(new(Syscall)); !errors.Is(err, ErrNoData) {
		t.Errorf("a kernel without the file: %v", err)
	}
	must.Do(t, os.RemoveAll(dir))
	if err := task.Syscall(new(Syscall)); !errors.Is(err, ErrGone) {
		t.Errorf("an ended thread: %v", err)
	}
	if _, err := p.Task(19873); !errors.Is(err, ErrGone) {
		t.Errorf("opening an ended thread: %v", err)
	}
}
