//go:build reliability

package reliability

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// ownMounts gives the trial a mount namespace of its own: what it mounts from here on is seen by it and by the programs it starts, and by
// nobody else, who might walk into a mount that hangs. The trial's thread is not given back: it ends with the trial.
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
