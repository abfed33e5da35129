package hook

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// tidy removes the private folders of one's own in parent that a killed pipetune left there: those with a socket that nobody listens to any more. One
// that cannot be removed stays; it is a few kilobytes, and somebody else's trouble is no reason not to begin.
func tidy(parent string, euid int) {
	left, err := filepath.Glob(filepath.Join(parent, folderPattern))
	if err != nil {
		return
	}
	for _, dir := range left[:min(len(left), 64)] {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 || owner(dir) != euid || !deserted(filepath.Join(dir, socketName)) {
			continue
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			continue
		}
		if made, err := root.Stat("."); err != nil || !os.SameFile(made, info) {
			root.Close()
			continue
		}
		f := folder{path: dir, root: root}
		_ = f.remove() // as said above
	}
}

// deserted says whether there is a socket at a path that nobody listens to.
func deserted(name string) bool {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&os.ModeSocket != 0 && errors.Is(unix.Connect(fd, &unix.SockaddrUnix{Name: name}), unix.ECONNREFUSED)
}
