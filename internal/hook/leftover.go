package hook

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// mostLeft bounds how many folders are looked at: others may use the name too.
const mostLeft = 64

// abandoned is the age from which a folder without a socket is one that was left: between the making of the two lie
// milliseconds.
const abandoned = time.Minute

// tidy removes the private folders of one's own in parent that a killed pipetune left there, and in no other folder:
// those with a socket that nobody listens to any more, and old ones without a socket that hold nothing but the hook.
// One that cannot be removed stays; it is a few kilobytes, and somebody else's trouble is no reason not to begin.
func tidy(parent string, euid int, now time.Time) {
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
		if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 || owner(info) != euid {
			continue
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			continue
		}
		left := deserted(filepath.Join(dir, socketName)) || numbered(entry.Name()) &&
			now.Sub(info.ModTime()) >= abandoned && unfinished(root.FS())
		if made, err := root.Stat("."); err != nil || !os.SameFile(made, info) || !left {
			root.Close()
			continue
		}
		f := folder{path: dir, root: root}
		_ = f.remove() // as said above
	}
}

// numbered says whether a name is one that os.MkdirTemp makes of folderPattern.
func numbered(name string) bool {
	_, err := strconv.ParseUint(strings.TrimPrefix(name, strings.TrimSuffix(folderPattern, "*")), 10, 32)
	return err == nil
}

// unfinished says whether a private folder holds nothing, or a part of a hook, of whatever version, and nothing else.
func unfinished(dir fs.FS) bool {
	return fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		ours := false
		switch parent, base := path.Split(name); {
		case d.IsDir():
			ours = name == "." || name == pythonFolder || name == path.Join(pythonFolder, packageName) ||
				name == path.Join(pythonFolder, actingFolder)
		case parent == pythonFolder+"/":
			ours = base == "sitecustomize.py" || base == cacheName
		case parent == path.Join(pythonFolder, packageName)+"/", parent == path.Join(pythonFolder, actingFolder)+"/":
			ours = path.Ext(base) == ".py" || base == cacheName
		}
		if !ours || !d.IsDir() && !d.Type().IsRegular() {
			return fs.ErrExist
		}
		return nil
	}) == nil
}

// deserted says whether there is a socket at a path that nobody listens to.
func deserted(name string) bool {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&os.ModeSocket != 0 && errors.Is(unix.Connect(fd, &unix.SockaddrUnix{Name: name}),
		unix.ECONNREFUSED)
}
