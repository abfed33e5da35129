package dataset

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

// walked goes through a tree and returns the walk and the files it met, sorted.
func walked(t *testing.T, root string) (*walk, []string, error) {
	t.Helper()
	fd := must.Get(unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	var files []string
	w := &walk{stop: func() bool { return false }, root: root + "/", file: func(folder, name []byte) {
		files = append(files, string(folder)+string(name))
	}}
	err := w.run(fd)
	slices.Sort(files)
	return w, files, err
}

func TestWalk(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/1.jpg", "a/2.jpg", "a/deep/er/3.jpg", "b/4.jpg", "5.jpg",
		"evil \x1b[31m\n/6\xff.jpg", ".hidden/7"} {
		write(t, filepath.Join(dir, name), []byte("x"))
	}
	for link, to := range map[string]string{"a/loop": "..", "self": ".", "b/file.jpg": "4.jpg", "dangling": "nowhere",
		"x": "y", "y": "x"} {
		must.Do(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	must.Do(t, unix.Mkfifo(filepath.Join(dir, "b", "fifo.jpg"), 0o600))
	w, files, err := walked(t, dir)
	want := []string{".hidden/7", "5.jpg", "a/1.jpg", "a/2.jpg", "a/deep/er/3.jpg", "b/4.jpg",
		"evil \x1b[31m\n/6\xff.jpg"}
	if err != nil || !slices.Equal(files, want) {
		t.Errorf("met %q, %v", files, err)
	}
	if w.folders != 6 || w.links != 6 || w.fullest != 2 || w.cut {
		t.Errorf("%d folders, %d links, at most %d files, cut %v", w.folders, w.links, w.fullest, w.cut)
	}
	if s := w.special.sorted(); len(s) != 1 || s[0].Reason != "FIFO" || s[0].Count != 1 ||
		string(s[0].Example) != "b/fifo.jpg" {
		t.Errorf("special: %+v", s)
	}
	if len(w.bad.list) != 0 {
		t.Errorf("unread: %+v", w.bad.list)
	}
}

// many makes files of one content in a new folder, named by 20 digits and an ending, a tab in it their number.
func many(t *testing.T, dir string, n int, content, ending string) {
	t.Helper()
	must.Do(t, os.Mkdir(dir, 0o700))
	fd := must.Get(unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	for i := range n {
		name := fmt.Sprintf("%020d", i) + strings.ReplaceAll(ending, "\t", fmt.Sprint(i))
		file := must.Get(unix.Openat(fd, name, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600))(t)
		must.Get(unix.Write(file, []byte(content)))(t)
		unix.Close(file)
	}
}

// A tree deeper than the descriptors a child has, and paths longer than the kernel opens.
func TestWalkInTheDeep(t *testing.T) {
	for name, c := range map[string]struct {
		levels, length int
		reason         string
		files          int
	}{
		"many levels": {200, 1, reasonDepth, maxDepth},
		"long names":  {20, 250, reasonPath, 17}, // 16 times 251 bytes and the root's path are below 4096
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			fd := must.Get(unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY, 0))(t)
			for range c.levels {
				file := must.Get(unix.Openat(fd, "f", unix.O_CREAT|unix.O_WRONLY, 0o600))(t)
				unix.Close(file)
				fd = below(t, fd, strings.Repeat("d", c.length))
			}
			unix.Close(fd)
			w, files, err := walked(t, root)
			if err != nil || len(files) > c.files || len(files) < c.files-1 {
				// one less where the root's own path is long
				t.Errorf("%d files, %v; want %d", len(files), err, c.files)
			}
			if len(w.bad.list) != 1 || w.bad.list[0].Reason != c.reason {
				t.Errorf("%+v; want %s", w.bad.list, c.reason)
			}
			for _, f := range files {
				if _, err := os.Lstat(filepath.Join(root, f)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// below makes a folder in an open one, and returns it in that one's place.
func below(t *testing.T, fd int, name string) int {
	t.Helper()
	defer unix.Close(fd)
	must.Do(t, unix.Mkdirat(fd, name, 0o700))
	return must.Get(unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0))(t)
}

// asNobody runs a function with the file rights of a user who owns nothing; as root it would be refused nothing.
func asNobody(t *testing.T, run func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if os.Geteuid() == 0 {
		const nobody = 65534
		must.Get(unix.SetfsuidRetUid(nobody))(t)
		defer func() { must.Get(unix.SetfsuidRetUid(0))(t) }()
		if uid, err := unix.SetfsuidRetUid(-1); err != nil || uid != nobody {
			t.Fatalf("the rights of user %d, %v; want %d", uid, err, nobody)
		}
	}
	run()
}

// openToAll makes folders of a test readable for all, down from the system's own.
func openToAll(t *testing.T, dir string) {
	t.Helper()
	for ; len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		must.Do(t, os.Chmod(dir, 0o755))
	}
}

// special makes one of each that must not be opened; devices only with the right to make them.
func special(t *testing.T, dir string) map[string]string {
	t.Helper()
	must.Do(t, unix.Mkfifo(filepath.Join(dir, "fifo.jpg"), 0o600))
	socket := must.Get(net.Listen("unix", filepath.Join(dir, "socket.jpg")))(t)
	t.Cleanup(func() { socket.Close() })
	names := map[string]string{"fifo.jpg": "FIFO", "socket.jpg": "socket"}
	zero := int(unix.Mkdev(1, 5))
	if err := unix.Mknod(filepath.Join(dir, "zero.jpg"), unix.S_IFCHR|0o600, zero); err == nil {
		names["zero.jpg"] = "character device"
	} else if !errors.Is(err, unix.EPERM) {
		t.Fatal(err)
	}
	return names
}

func TestKindOf(t *testing.T) {
	dir := t.TempDir()
	names := special(t, dir)
	write(t, filepath.Join(dir, "file"), nil)
	must.Do(t, os.Symlink("file", filepath.Join(dir, "link")))
	f := must.Get(os.Open(dir))(t)
	defer f.Close()
	want := map[string]byte{".": unix.DT_DIR, "file": unix.DT_REG, "link": unix.DT_LNK, "fifo.jpg": unix.DT_FIFO,
		"socket.jpg": unix.DT_SOCK}
	if names["zero.jpg"] != "" {
		want["zero.jpg"] = unix.DT_CHR
	}
	for name, kind := range want {
		if got, err := kindOf(int(f.Fd()), []byte(name)); err != nil || got != kind {
			t.Errorf("%s: type %d, %v; want %d", name, got, err, kind)
		}
	}
	if _, err := kindOf(int(f.Fd()), []byte("none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
