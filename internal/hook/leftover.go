package hook

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mostLeft bounds how many folders are looked at: others may use the name too.
const mostLeft = 64

// tidy removes the private folders of one's own in parent that a killed pipetune left there, and in no other folder: those with a socket that nobody listens to any more. One
// that cannot be removed stays; it is a few kilobytes, and somebody else's trouble is no reason not to begin.
func tidy(parent string, euid int) {
	list, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	looked := 0
	for _, entry := range list {
		if ours, err := filepath.Match(folderPattern, entry.Name()); err != nil || !ours || looked == mostLeft {
			continue
		}
		looked++
		dir := filepath.Join(parent, entry.Name())
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
