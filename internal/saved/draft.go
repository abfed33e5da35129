// Package saved holds the files that pipetune writes and reads again. A file is written whole or not at all, and an
// error about one that is no report or recording says what it is instead.
package saved

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Draft is a file being written under a temporary name, in the folder where it gets its own. The folder is held open:
// whatever is renamed or linked in its place meanwhile, the file is made, named and removed in the one that was found
// at first.
type Draft struct {
	*os.File
	folder int    // O_PATH: it need not be readable
	base   string // the name it gets
	hidden string // the name it has
}

// Create makes a new file in path's folder, which no one else can have prepared: O_EXCL and O_NOFOLLOW. An
// existing path must be a regular file.
func Create(path string) (*Draft, error) {
	dir, base := filepath.Split(path)
	folder, err := unix.Open(filepath.Clean(dir), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	d := &Draft{folder: folder, base: base, hidden: "." + base + ".partial-" + rand.Text()[:8]}
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
func (d *Draft) mayTake() error {
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

// Settle closes the draft and gives it its name, or removes it where writing failed.
func (d *Draft) Settle(err error) error {
	var ours unix.Stat_t
	err = errors.Join(err, d.Sync(), unix.Fstat(int(d.Fd()), &ours), d.Close())
	if err == nil {
		err = unix.Renameat(d.folder, d.hidden, d.folder, d.base)
	}
	if err != nil {
		return errors.Join(Plain(err), d.remove(), unix.Close(d.folder))
	}
	// In a folder that others may rename in, what has got the name may be theirs.
	var there unix.Stat_t
	if err = unix.Fstatat(d.folder, d.base, &there, unix.AT_SYMLINK_NOFOLLOW); err == nil && (there.Ino != ours.Ino ||
		there.Dev != ours.Dev) {
		err = errors.New("somebody else put another file in its place; choose a folder of your own")
	}
	return errors.Join(err, unix.Close(d.folder))
}

// Drop removes the draft.
func (d *Draft) Drop() error { return errors.Join(d.Close(), d.remove(), unix.Close(d.folder)) }

func (d *Draft) remove() error { return unix.Unlinkat(d.folder, d.hidden, 0) }

// Plain leaves out the call and the name, which may be a temporary one that a person never chose.
func Plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Recording is a recording being written: whole lines under a temporary name, renamed at the end. Where a write fails
// the torn line is taken back, so that what is there can be read.
type Recording struct {
	draft *Draft
	good  int64 // bytes of whole lines
	err   error
}

// CreateRecording makes a file for a recording, which gets the name path.
func CreateRecording(path string) (*Recording, error) {
	d, err := Create(path)
	if err != nil {
		return nil, err
	}
	return &Recording{draft: d}, nil
}

// Write implements io.Writer; each call holds whole lines.
func (r *Recording) Write(b []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.draft.Write(b)
	if err != nil {
		_, seekErr := r.draft.Seek(r.good, io.SeekStart)
		r.err = errors.Join(Plain(err), r.draft.Truncate(r.good), seekErr)
		return 0, r.err
	}
	r.good += int64(n)
	return n, nil
}

// KeptError is that of a recording which could not be written to its end: what was recorded until then is in the file
// Kept.
type KeptError struct {
	Kept string
	error
}

// Unwrap implements what errors.Is asks for.
func (e *KeptError) Unwrap() error { return e.error }

// Finish gives the recording its name. After a failed write its error is a *KeptError.
func (r *Recording) Finish() error {
	if r.err != nil {
		return &KeptError{r.draft.Name(), errors.Join(r.err, r.draft.Close())}
	}
	return r.draft.Settle(nil)
}

// Drop removes the recording: nothing was measured.
func (r *Recording) Drop() error { return r.draft.Drop() }
