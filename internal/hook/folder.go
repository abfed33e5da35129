package hook

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/procfs"
)

const (
	// pythonFolder is what PYTHONPATH names, inside the private folder. On their way up the stack to the line that a
	// warning is for, warnings, and logging from Python 3.11 on, pass over files whose path holds both words, as the
	// import system's does (_is_internal_filename of warnings.py): that line is never one of the hook's.
	pythonFolder = "importlib._bootstrap"
	packageName  = "pipetune_hook" // the folder in that one
	cacheName    = "__pycache__"   // a file, where Python would make a folder
	socketName   = "socket"
	// maxSocketPath is what sun_path of a Unix socket's address holds beside its final zero (linux/un.h).
	maxSocketPath = 107
	// folderPattern is os.MkdirTemp's for the private folder, and longestName the longest that it makes of it.
	folderPattern = "pipetune-*"
	longestName   = len("pipetune-4294967295")
	// longestShelter is the longest that shelterName makes.
	longestShelter = len("pipetune-of-4294967295")
)

// folder is the private folder: mode 0700, with the hook's files, mode 0400, and the socket. root is held open, so that
// what is removed at the end is what was made, whatever stands at the path by then.
type folder struct {
	path string
	root *os.Root
}

// makeFolder makes the private folder in the first parent that will do, and writes the hook's files to it.
func makeFolder(parents []string, files []source) (*folder, error) {
	var tried []error
	for _, parent := range parents {
		if strings.ContainsRune(parent, os.PathListSeparator) {
			tried = append(tried, fmt.Errorf("%s: PYTHONPATH would end it at its %q", parent, os.PathListSeparator))
			continue
		}
		if n := len(parent) + 1 + longestShelter + 1 + longestName + 1 + len(socketName); n > maxSocketPath {
			tried = append(tried, fmt.Errorf("%s: a socket in it would have a path of %d bytes, and the kernel takes "+
				"%d", parent, n, maxSocketPath))
			continue
		}
		parent, err := shelter(parent, os.Geteuid())
		if err != nil {
			tried = append(tried, err)
			continue
		}
		f, err := newFolder(parent, files)
		if err == nil {
			tidy(parent, os.Geteuid(), time.Now())
			return f, nil
		}
		tried = append(tried, err)
	}
	return nil, fmt.Errorf("making the hook's private folder (set TMPDIR to a folder of your own with a short path "+
		"that holds no %q): %w", os.PathListSeparator, errors.Join(tried...))
}

// shelterName is a folder of a user's own, for private folders where others may write.
const shelterName = "pipetune-of-%d"

// shelter is where below parent the private folder is made. A job may live on when its private folder is gone, and its
// PYTHONPATH names it still: in a folder where others may write they could make one of that name. There it is made in
// one of the user's own, which stays.
func shelter(parent string, euid int) (string, error) {
	info, err := os.Stat(parent)
	if err != nil || info.Mode().Perm()&0o022 == 0 {
		return parent, err
	}
	own := filepath.Join(parent, fmt.Sprintf(shelterName, euid))
	if err = os.Mkdir(own, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if info, err = os.Lstat(own); err != nil {
		return "", err
	}
	if !info.IsDir() || owner(info) != euid || info.Mode().Perm() != 0o700 {
		return "", fmt.Errorf("%s is no folder of one's own that nobody else may enter (mode 0700)", own)
	}
	return own, nil
}

func newFolder(parent string, files []source) (*folder, error) {
	dir, err := os.MkdirTemp(parent, folderPattern)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	f := &folder{path: dir, root: root}
	if err := f.fill(files); err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
}

// fill writes the files and reads them again: what Python will load is what this program holds.
func (f *folder) fill(files []source) error {
	if err := os.Chmod(f.path, 0o700); err != nil { // a default access list of the parent may have widened it
		return err
	}
	var folders []string
	for _, s := range files {
		name := path.Join(pythonFolder, s.name)
		if err := f.root.MkdirAll(path.Dir(name), 0o700); err != nil {
			return err
		}
		if !slices.Contains(folders, path.Dir(name)) {
			folders = append(folders, path.Dir(name))
		}
		if err := f.root.WriteFile(name, s.data, 0o400); err != nil {
			return err
		}
		got, err := f.root.ReadFile(name)
		if err != nil {
			return err
		}
		if !bytes.Equal(got, s.data) {
			return fmt.Errorf("%s holds other bytes than were written: is the file system full, or is somebody else "+
				"writing there?",
				filepath.Join(f.path, name))
		}
	}
	for _, sub := range folders {
		// A file stands where Python would keep compiled code: root's Python writes to a folder of mode 0500 too.
		if err := f.root.WriteFile(path.Join(sub, cacheName), nil, 0o400); err != nil {
			return err
		}
		if err := f.root.Chmod(sub, 0o500); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the folder with all that is in it, following no links. It may be called once.
func (f *folder) remove() error {
	made, err := f.root.Stat(".")
	if err == nil {
		err = f.empty()
	}
	if stands, there := os.Lstat(f.path); err == nil && there == nil && os.SameFile(made, stands) {
		err = os.Remove(f.path)
	}
	return errors.Join(err, f.root.Close())
}

// empty removes what is in the folder; sub-folders are made writable first.
func (f *folder) empty() error {
	var sub []string
	err := fs.WalkDir(f.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name != "." {
			err = f.root.Chmod(name, 0o700)
		}
		if err == nil && name != "." && !strings.Contains(name, "/") {
			sub = append(sub, name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	for _, name := range sub {
		err = errors.Join(err, f.root.RemoveAll(name))
	}
	return err
}

// parents lists where the private folder may be made, best first: a XDG_RUNTIME_DIR that is one's own, TMPDIR, /tmp.
func parents(getenv func(string) string, euid int) []string {
	var list []string
	if own := getenv("XDG_RUNTIME_DIR"); usable(own, euid) {
		if info, err := os.Stat(own); err == nil && owner(info) == euid {
			list = append(list, own)
		}
	}
	if tmp := getenv("TMPDIR"); usable(tmp, euid) {
		list = append(list, tmp)
	}
	return append(list, "/tmp")
}

// usable says whether a folder can be written to without a network, and whether what is made there stays where it is:
// neither it nor a
// folder above may let others rename what is not theirs, or Python would load what they put in its place.
func usable(dir string, euid int) bool {
	var st unix.Statfs_t
	if !filepath.IsAbs(dir) || unix.Access(dir, unix.W_OK|unix.X_OK) != nil || unix.Statfs(dir, &st) != nil {
		return false
	}
	if kind, known := procfs.KindOfMagic(int64(st.Type)); known && kind.Distant() {
		return false // each message would look its socket's path up there, and wait for the server
	}
	real, err := filepath.EvalSymlinks(dir)
	for err == nil {
		info, failed := os.Lstat(real)
		if failed != nil || !info.IsDir() {
			return false
		}
		uid := owner(info)
		if uid != euid && uid != 0 || info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return false
		}
		if real == "/" {
			return true
		}
		real = filepath.Dir(real)
	}
	return false
}

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
