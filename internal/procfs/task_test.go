package procfs

import (
	"errors"
	"os"
	"testing"
)

// TestEndedThreadIsGone tells a thread that ended while its process lives on from a kernel without the file.
func TestEndedThreadIsGone(t *testing.T) {
	f := fixture(t, "debian12-hybrid")
	p := open(t, f, 19868)
	task, err := p.Task(19873)
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	dir := f.Path("proc", "19868", "task", "19873")
	if err := os.Remove(dir + "/syscall"); err != nil {
		t.Fatal(err)
	}
	if err := task.Syscall(new(Syscall)); !errors.Is(err, ErrNoData) {
		t.Errorf("a kernel without the file: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := task.Syscall(new(Syscall)); !errors.Is(err, ErrGone) {
		t.Errorf("an ended thread: %v", err)
	}
	if _, err := p.Task(19873); !errors.Is(err, ErrGone) {
		t.Errorf("opening an ended thread: %v", err)
	}
}
