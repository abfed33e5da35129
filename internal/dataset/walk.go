package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/isolate"
)

// maxDepth bounds how far a walk goes down: one descriptor and one listing of listBytes are held for each level.
// find(1) has no such bound; no dataset seen nests deeper than ten.
const maxDepth = 128

// listBytes is what the kernel lists at a time, some 500 names of 40 bytes; glibc's readdir asks for as much.
const listBytes = 32 << 10

// maxPath is the longest path that can be opened: PATH_MAX of linux/limits.h less the NUL.
const maxPath = unix.PathMax - 1

// walk goes through a folder and all below it, once, as the kernel lists it. It holds no list of names, so that its
// memory does not grow with the tree. Symbolic links are counted and not followed, which leaves no way to go round in
// circles. Nothing but folders is opened, and a file's inode is only asked for where the file system does not list
// types.
type walk struct {
	// called for each regular file, with its folder, relative and with a slash; both good until it returns
	file func(folder, name []byte)
	stop func() bool // asked once for each batch of names: true ends the walk

	folders, links int64 // below the root; links of all kinds
	fullest        int64 // files in the folder that has most of them
	special, bad   tallies
	cut            bool // it was stopped before it was done

	root     string   // its path and a slash
	snapshot bool     // the root is a Hugging Face snapshot: links to its blobs are taken for the files they lead to
	path     []byte   // of the folder that is read, relative to the root: "" or "a/b/"
	lists    [][]byte // one for each level
}

// run walks the tree below an open folder. What is unreadable in it is counted in bad; the error is the folder's.
func (w *walk) run(fd int) error {
	w.snapshot = blobsOf(w.root) != ""
	return w.enter(fd, 0)
}

func (w *walk) enter(fd, depth int) error {
	if depth == len(w.lists) {
		w.lists = append(w.lists, make([]byte, listBytes))
	}
	var files int64
	defer func() { w.fullest = max(w.fullest, files) }()
	for {
		if w.stop() {
			w.cut = true
			return nil
		}
		var n int
		err := isolate.Persist(func() (err error) { n, err = unix.Getdents(fd, w.lists[depth]); return err })
		if err != nil {
			return fmt.Errorf("listing the folder: %w", err)
		}
		if n == 0 {
			return nil
		}
		for rest := w.lists[depth][:n]; len(rest) > 0; {
			var e isolate.Entry
			var ok bool
			if e, rest, ok = isolate.NextEntry(rest); !ok {
				return errListing
			}
			files += w.take(fd, depth, e)
			if w.cut {
				return nil
			}
		}
	}
}

var errListing = errors.New("listing the folder: the kernel's answer makes no sense")

// take deals with one entry of the folder fd and returns 1 for a regular file, else 0.
func (w *walk) take(fd, depth int, e isolate.Entry) int64 {
	if e.Type == unix.DT_UNKNOWN {
		kind, err := kindOf(fd, e.Name)
		if err != nil {
			w.bad.add(reasonOf(err), w.path, e.Name)
			return 0
		}
		e.Type = kind
	}
	switch e.Type {
	case unix.DT_REG:
		if len(w.root)+len(w.path)+len(e.Name) > maxPath {
			w.bad.add(reasonPath, w.path, e.Name)
			return 1
		}
		w.file(w.path, e.Name)
		return 1
	case unix.DT_DIR:
		if !e.Self() {
			w.folders++
			w.descend(fd, depth, e.Name)
		}
	case unix.DT_LNK:
		if w.snapshot && isBlob(filepath.Join(w.root, string(w.path)), fd, e.Name) {
			return w.take(fd, depth, isolate.Entry{Name: e.Name, Type: unix.DT_REG})
		}
		w.links++
	default:
		w.special.add(specialName(e.Type), w.path, e.Name)
	}
	return 0
}

func (w *walk) descend(parent, depth int, name []byte) {
	if depth+1 >= maxDepth {
		w.bad.add(reasonDepth, w.path, name)
		return
	}
	var fd int
	err := isolate.Persist(func() (err error) {
		fd, err = unix.Openat(parent, string(name),
			unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		return err
	})
	if err != nil {
		w.bad.add(reasonOf(err), w.path, name)
		return
	}
	defer unix.Close(fd)
	length := len(w.path)
	w.path = append(append(w.path, name...), '/')
	err = w.enter(fd, depth+1)
	w.path = w.path[:length]
	if err != nil {
		w.bad.add(reasonOf(err), w.path, name)
	}
}

// kindOf asks for the type of an entry, as getdents would have given it.
func kindOf(fd int, name []byte) (byte, error) {
	var st unix.Stat_t
	stat := func() error { return unix.Fstatat(fd, string(name), &st, unix.AT_SYMLINK_NOFOLLOW) }
	if err := isolate.Persist(stat); err != nil {
		return 0, fmt.Errorf("looking at a file: %w", err)
	}
	return byte(st.Mode & unix.S_IFMT >> 12), nil // include/linux/fs_types.h: S_DT
}

var specialNames = map[byte]string{unix.DT_FIFO: "FIFO", unix.DT_SOCK: "socket", unix.DT_CHR: "character device",
	unix.DT_BLK: "block device"}

func specialName(kind byte) string { return cmp.Or(specialNames[kind], "entry of unknown type") }
