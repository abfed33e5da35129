package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// draft is a file being written under a temporary name, in the folder where it gets its own. The folder is held open:
// whatever is renamed or linked in its place meanwhile, the file is made, named and removed in the one that was found
// at first.
type draft struct {
	*os.File
	folder int    // O_PATH: it need not be readable
	base   string // the name it gets
	hidden string // the name it has
}

// createDraft makes a new file in path's folder, which no one else can have prepared: O_EXCL and O_NOFOLLOW. An
// existing path must be a regular file.
func createDraft(path string) (*draft, error) {
	dir, base := filepath.Split(path)
	folder, err := unix.Open(filepath.Clean(dir), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	d := &draft{folder: folder, base: base, hidden: "." + base + ".partial-" + rand.Text()[:8]}
	if err := d.mayTake(); err != nil {
		return nil, errors.Join(err, unix.Close(folder))
	}
	fd, err := unix.Openat(folder, d.hidden, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC,
		0o600)
	if err != nil {
		return nil, errors.Join(err, unix.Close(folder))
	}
	d.File = os.NewFile(uintptr(fd), filepath.Join(dir, d.hidden))
	return d, nil
}

// mayTake says why the draft cannot get its name, as far as can be determined before.
func (d *draft) mayTake() error {
	var st unix.Stat_t
	switch err := unix.Fstatat(d.folder, d.base, &st, unix.AT_SYMLINK_NOFOLLOW); {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return err
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return fmt.Errorf("is a symbolic link; name the file it points to")
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("exists and is not a regular file")
	}
	return nil
}

// settle closes the draft and gives it its name, or removes it where writing failed.
func (d *draft) settle(err error) error {
	var ours unix.Stat_t
	err = errors.Join(err, d.Sync(), unix.Fstat(int(d.Fd()), &ours), d.Close())
	if err == nil {
		err = unix.Renameat(d.folder, d.hidden, d.folder, d.base)
	}
	if err != nil {
		return errors.Join(plainPathError(err), d.remove(), unix.Close(d.folder))
	}
	// In a folder that others may rename in, what has got the name may be theirs.
	var there unix.Stat_t
	if err = unix.Fstatat(d.folder, d.base, &there, unix.AT_SYMLINK_NOFOLLOW); err == nil && (there.Ino != ours.Ino ||
		there.Dev != ours.Dev) {
		err = errors.New("somebody else put another file in its place; choose a folder of your own")
	}
	return errors.Join(err, unix.Close(d.folder))
}

// drop removes the draft.
func (d *draft) drop() error { return errors.Join(d.Close(), d.remove(), unix.Close(d.folder)) }

// remove takes the temporary name away.
func (d *draft) remove() error { return unix.Unlinkat(d.folder, d.hidden, 0) }
