package isolate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

func FuzzNextEntry(f *testing.F) {
	dir := f.TempDir()
	for _, name := range []string{"a", "b.jpg", strings.Repeat("n", 255)} {
		must.Do(f, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	fd := must.Get(unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0))(f)
	defer unix.Close(fd)
	real := make([]byte, 4096)
	n := must.Get(unix.Getdents(fd, real))(f)
	f.Add(real[:n])
	f.Add(make([]byte, 24))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for rest := raw; len(rest) > 0; {
			e, after, ok := NextEntry(rest)
			if !ok {
				return
			}
			if len(e.Name) == 0 || bytes.IndexByte(e.Name, 0) >= 0 || len(after) >= len(rest) {
				t.Fatalf("name %q, %d bytes left of %d", e.Name, len(after), len(rest))
			}
			rest = after
		}
	})
}

func TestPaths(t *testing.T) {
	paths := newRunner(t).Paths()
	defer paths.Close()
	dir := t.TempDir()
	odd := "bad\xffname\n"
	file := filepath.Join(dir, odd)
	must.Do(t, os.WriteFile(file, []byte("\x89HDF\r\n\x1a\nrest"), 0o600))
	must.Do(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	must.Do(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	must.Do(t, os.Symlink(odd, filepath.Join(dir, "link")))
	ctx := t.Context()

	info, err := paths.Stat(ctx, "/", filepath.Join(dir, "link"))
	if err != nil || info.Mode != unix.S_IFREG|0o600 {
		t.Errorf("stat: %+v, %v", info, err)
	}
	if info, err = paths.Lstat(ctx, "/", filepath.Join(dir, "link")); err != nil ||
		info.Mode&unix.S_IFMT != unix.S_IFLNK {
		t.Errorf("lstat: %+v, %v", info, err)
	}
	if _, err := paths.Stat(ctx, "/", filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat of nothing: %v", err)
	}
	var want unix.Statfs_t
	_ = unix.Statfs(dir, &want)
	if system, err := paths.Statfs(ctx, "/", dir); err != nil || system.Type != int64(want.Type) ||
		system.TotalBytes != want.Blocks*uint64(want.Bsize) {
		t.Errorf("statfs: %+v, %v", system, err)
	}
	listing, err := paths.ReadDir(ctx, "/", dir, 10)
	types := map[string]uint8{}
	for _, entry := range listing.Entries {
		types[string(entry.Name)] = entry.Type
	}
	if diff := cmp.Diff(map[string]uint8{odd: unix.DT_REG, "sub": unix.DT_DIR, "fifo": unix.DT_FIFO,
		"link": unix.DT_LNK}, types); diff != "" || listing.More || err != nil {
		t.Errorf("readdir: %s, %v", diff, err)
	}
	if listing, err = paths.ReadDir(ctx, "/", dir, 4); err != nil || len(listing.Entries) != 4 || listing.More {
		t.Errorf("readdir, just enough: %+v, %v", listing, err)
	}
	if listing, err = paths.ReadDir(ctx, "/", dir, 3); err != nil || len(listing.Entries) != 3 || !listing.More {
		t.Errorf("readdir, limited: %+v, %v", listing, err)
	}
	if _, err := paths.ReadDir(ctx, "/", dir, 0); err == nil {
		t.Error("a limit of 0 was accepted")
	}
	if got, err := paths.Head(ctx, "/", file, 4); err != nil || string(got) != "\x89HDF" {
		t.Errorf("head: %q, %v", got, err)
	}
	if got, err := paths.Head(ctx, "/", file, 100); err != nil || len(got) != 12 {
		t.Errorf("head of a short file: %q, %v", got, err)
	}
	for _, name := range []string{"fifo", "sub"} {
		if _, err := paths.Head(ctx, "/", filepath.Join(dir, name), 4); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("head of a %s: %v", name, err)
		}
	}
	if paths.idle.Starts() != 1 {
		t.Errorf("%d starts", paths.idle.Starts())
	}
	paths.Rest()
	if _, err := paths.Stat(ctx, "/", dir); err != nil {
		t.Errorf("after a rest: %v", err)
	}
	paths.Close()
	if _, err := paths.Stat(ctx, "/", dir); err == nil {
		t.Error("a closed service answered")
	}
}

func TestPathsRestWhenIdle(t *testing.T) {
	r := newRunner(t)
	paths := r.Paths()
	defer paths.Close()
	paths.rest = 50 * time.Millisecond
	for range 3 {
		must.Get(paths.Stat(t.Context(), "/", "/"))(t)
		waitFor(t, "the idle child to end", func() bool { return len(r.Children()) == 0 })
	}
}

// TestPathsGiveUp kills the child again and again.
func TestPathsGiveUp(t *testing.T) {
	paths := newRunner(t).Paths()
	defer paths.Close()
	for range 1 + MaxRestarts {
		paths.giveBack(paths.runner.Child(paths.spec), &DeathError{})
	}
	if _, err := paths.Stat(t.Context(), "/", "/"); !errors.Is(err, ErrGaveUp) {
		t.Errorf("got %v", err)
	}
}

func TestPathsFromManyGoroutines(t *testing.T) {
	r := newRunner(t)
	paths := r.Paths()
	defer paths.Close()
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if _, err := paths.Stat(t.Context(), fmt.Sprint("/mnt/", i%8), "/"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	waitFor(t, "all children but one to end", func() bool { return len(r.Children()) == 1 })
}

func TestPathsListALargeFolder(t *testing.T) {
	paths := newRunner(t).Paths()
	defer paths.Close()
	paths.spec.Timeout = 30 * time.Second // the race detector on a busy machine takes its time
	dir := t.TempDir()
	for i := range maxEntries + 1 {
		name := fmt.Sprintf("%05d%s", i, strings.Repeat("n", 250))
		must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	listing, err := paths.ReadDir(t.Context(), "/", dir, maxEntries)
	if err != nil || len(listing.Entries) != maxEntries || !listing.More {
		t.Errorf("%d entries, more %v, %v", len(listing.Entries), listing.More, err)
	}
}
