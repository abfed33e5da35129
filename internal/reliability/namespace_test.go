//go:build reliability

package reliability

import (
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/isolate/hungmount"
	"github.com/pipetune/pipetune/internal/must"
)

// ownMounts gives the trial a mount namespace of its own: what it mounts from here on is seen by it and by the programs
// it starts, and by nobody else, who might walk into a mount that hangs. The trial's thread is not given back: it ends
// with the trial.
func (s *stand) ownMounts() {
	s.Helper()
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		s.Fatalf("making a mount namespace: %v", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		s.Fatalf("making mounts private: %v", err)
	}
}

// mounted is a file system of the trial's own, on raw /dev/fuse.
type mounted struct {
	*hungmount.Mount
	dir     string
	release func() // takes it away, once: what hangs in it goes on with an error
}

// mount mounts one that never answers some kinds of questions. It must be released before whoever hangs in it can be
// ended.
func (s *stand) mount(hang ...hungmount.Op) mounted {
	s.Helper()
	dir := must.Get(os.MkdirTemp(s.work, "mount-"))(s)
	m := must.Get(hungmount.Start(dir, hang...))(s)
	return mounted{m, dir, sync.OnceFunc(func() {
		if err := m.Release(); err != nil {
			s.Error(err)
		}
	})}
}
