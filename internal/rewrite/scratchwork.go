package rewrite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// scratchAsk asks a worker process for a folder of pipetune's own. The process keeps its lock until it ends.
type scratchAsk struct {
	Within []string // folders to make it in: the first that suits
	Name   string   // scratchName
	Avoid  []byte   // the dataset's folder: not in there; nil: anywhere, the person named the place
	Bytes  int64    // what has to be free there
	Spare  int64    // and how much may be taken where the folder lies in memory
}

// scratchMade is where it is.
type scratchMade struct {
	Path     []byte
	InMemory bool // there is no storage below it, so nothing in it can be cold
	Removed  int  // folders that runs before this one left behind, killed before they could remove them
}

// lockName is the file in a scratch folder that is locked for as long as the folder is in use.
const lockName = ".lock"

// scratchNames are pipetune's own: pipetune-<pid>-<random>.
var scratchNames = regexp.MustCompile(`^pipetune-([0-9]{1,10})-[0-9a-f]{16}$`)

func (c *child) makeScratch(q scratchAsk) (scratchMade, error) {
	if !scratchNames.MatchString(q.Name) {
		return scratchMade{}, fmt.Errorf("no name for a scratch folder: %q", q.Name)
	}
	var refusals []error
	for _, within := range q.Within {
		made, err := c.makeScratchIn(within, q)
		if err == nil {
			return made, nil
		}
		refusals = append(refusals, err)
	}
	return scratchMade{}, errors.Join(refusals...)
}

func (c *child) makeScratchIn(within string, q scratchAsk) (scratchMade, error) {
	place, err := filepath.EvalSymlinks(within)
	if err != nil {
		return scratchMade{}, fmt.Errorf("looking for the folder: %w", err)
	}
	if q.Avoid != nil && liesIn(place, string(q.Avoid)) {
		return scratchMade{}, fmt.Errorf("%s belongs to the dataset", within)
	}
	removed := removeLeftovers(place)
	var disk unix.Statfs_t
	if err := unix.Statfs(place, &disk); err != nil {
		return scratchMade{}, fmt.Errorf("asking how much is free in %s: %w", within, err)
	}
	if free := int64(disk.Bavail) * disk.Bsize; free < q.Bytes {
		return scratchMade{}, fmt.Errorf("%s has %d MiB free, %d are needed: %w", within, free>>20,
			(q.Bytes+1<<20-1)>>20, unix.ENOSPC)
	}
	memory := int64(disk.Type) == unix.TMPFS_MAGIC || int64(disk.Type) == unix.RAMFS_MAGIC
	if memory && q.Spare < q.Bytes {
		return scratchMade{}, fmt.Errorf("%s lies in memory, of which %d MiB may be taken, %d are needed: %w", within,
			q.Spare>>20, (q.Bytes+1<<20-1)>>20, unix.ENOSPC)
	}
	path := filepath.Join(place, q.Name)
	if err := os.Mkdir(path, 0o700); err != nil {
		return scratchMade{}, fmt.Errorf("making a scratch folder: %w", err)
	}
	if c.lock, err = os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return scratchMade{}, errors.Join(fmt.Errorf("making a scratch folder: %w", err), os.RemoveAll(path))
	}
	_ = unix.Flock(int(c.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) // where there are no locks, inUse goes by the process
	return scratchMade{Path: []byte(path), InMemory: memory, Removed: removed}, nil
}

// liesIn reports whether a folder, without symbolic links in its path, is another one or lies below it.
func liesIn(path, folder string) bool {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return true // it cannot be determined, so it is not risked
	}
	rest, err := filepath.Rel(folder, path)
	return err != nil || rest != ".." && !strings.HasPrefix(rest, "../")
}

// removeLeftovers removes the scratch folders of processes that are gone, where it can, and counts them.
func removeLeftovers(within string) (removed int) {
	dir, err := os.Open(within)
	if err != nil {
		return 0 // making the folder will say so
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(256)
		for _, e := range entries {
			match := scratchNames.FindStringSubmatch(e.Name())
			if match == nil || !e.IsDir() {
				continue
			}
			path := filepath.Join(within, e.Name())
			lock, free := unused(path, match[1])
			if free && os.RemoveAll(path) == nil {
				removed++
			}
			if lock != nil {
				_ = lock.Close() // held until here, so that two runs do not remove it at once
			}
		}
		if err != nil { // io.EOF is the end of the folder
			return removed
		}
	}
}

// settling is how long a folder without a lock is left alone: a process of another container may be making it.
const settling = time.Minute

// unused reports whether a scratch folder is this user's and nobody uses it: its lock can be had, or, where there are
// no locks, its process is gone. The lock, if there is one, is to be closed.
func unused(path, pid string) (lock *os.File, free bool) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR ||
		int(st.Uid) != unix.Geteuid() {
		return nil, false
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, gone(pid) && time.Since(time.Unix(st.Mtim.Unix())) > settling
	}
	if err != nil {
		return nil, false
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return lock, err == nil || !errors.Is(err, unix.EWOULDBLOCK) && gone(pid)
}

func gone(pid string) bool {
	n, err := strconv.Atoi(pid)
	return err == nil && n > 0 && errors.Is(unix.Kill(n, 0), unix.ESRCH)
}

// scratchGone asks a worker process to remove a scratch folder, or to empty it.
type scratchGone struct {
	Within []string
	Name   string
	Empty  bool // keep the folder and its lock
}

// removeTries bounds how often removing starts again because a process that was told to end still wrote.
const removeTries = 50

func removeScratch(ctx context.Context, q scratchGone) error {
	if !scratchNames.MatchString(q.Name) {
		return fmt.Errorf("no name of a scratch folder: %q", q.Name)
	}
	var failures []error
	for _, within := range q.Within {
		path := filepath.Join(within, q.Name)
		if missing(path) {
			continue // removing it would fail all the same where nothing can be written
		}
		remove := func() error { return os.RemoveAll(path) }
		if q.Empty {
			remove = func() error { return emptyFolder(path) }
		}
		err := remove()
		for try := 1; errors.Is(err, unix.ENOTEMPTY) && try < removeTries && ctx.Err() == nil; try++ {
			time.Sleep(10 * time.Millisecond)
			err = remove()
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("removing the scratch folder: %w", err))
		}
	}
	return errors.Join(failures...)
}

// missing reports whether there is nothing at a path; ENOTDIR says that the place is no folder.
func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

// emptyFolder removes all but the lock.
func emptyFolder(path string) error {
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if e.Name() != lockName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(path, e.Name())))
		}
	}
	return err
}
