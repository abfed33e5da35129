package rewrite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/must"
)

// roles are what this program does when it is started as "__role NAME FOLDER".
var roles = map[string]func(folder string){
	"keep a scratch folder":      keepScratch,
	"try on a full disk":         fullDisk,
	"write to what is only read": readOnly,
}

// keepScratch makes a scratch folder, says where, and waits to be killed.
func keepScratch(folder string) {
	s := jobOf(isolate.New(isolate.Config{Args: []string{"__child"}}), dataset.Sample{}, nil)
	k, err := s.scratchIn(context.Background(), optionScratch, []string{folder}, nil, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(k.Path))
	select {}
}

// readOnly asks for a scratch folder on a file system that is mounted read-only.
func readOnly(folder string) {
	if err := unix.Mount("tmpfs", folder, "tmpfs", unix.MS_RDONLY, "size=1m"); err != nil {
		fmt.Println("mounting a tmpfs, which takes root and a mount namespace of one's own:", err)
		return
	}
	s := jobOf(isolate.New(isolate.Config{Args: []string{"__child"}}), dataset.Sample{}, nil)
	defer s.Runner.Close()
	_, err := s.scratchIn(context.Background(), optionOther, []string{folder}, nil, 1)
	fmt.Println("error", err)
	fmt.Println("warnings", s.warnings)
}

// sayInNamespace holds what a role says, in a mount namespace of its own, to contain all of the wanted.
func sayInNamespace(t *testing.T, role, folder string, want ...string) {
	t.Helper()
	other := exec.Command("/proc/self/exe", "__role", role, folder)
	other.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := other.CombinedOutput()
	if err != nil {
		t.Fatalf("a mount namespace of its own takes root: %v\n%s", err, out)
	}
	for _, w := range want {
		if !strings.Contains(string(out), w) {
			t.Errorf("no %q in\n%s", w, out)
		}
	}
}

func TestScratchOnReadOnlyDisk(t *testing.T) {
	sayInNamespace(t, "write to what is only read", t.TempDir(), "error --compare-path: ", "read-only file system",
		"warnings []\n")
}

// scratchSession is a job that has nothing to read.
func scratchSession(t *testing.T) writing {
	t.Helper()
	return jobOf(newRunner(t), dataset.Sample{}, nil)
}

// left lists what is in a folder.
func left(t *testing.T, folder string) []string {
	t.Helper()
	entries := must.Get(os.ReadDir(folder))(t)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func nothingLeft(t *testing.T, folder string) {
	t.Helper()
	if got := left(t, folder); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
}

func TestScratch(t *testing.T) {
	within, s := t.TempDir(), scratchSession(t)
	k := must.Get(s.scratchIn(t.Context(), optionScratch, []string{within}, nil, 1<<20))(t)
	info, err := os.Lstat(string(k.Path))
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 || filepath.Dir(string(k.Path)) != within {
		t.Errorf("made %s: %v, %v", k.Path, info, err)
	}
	for _, name := range []string{"candidate.h5", "a/b/c"} {
		path := filepath.Join(string(k.Path), name)
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600)))
	}
	must.Do(t, k.clear(t.Context(), false))
	if got := left(t, string(k.Path)); !slices.Equal(got, []string{lockName}) {
		t.Errorf("emptied, there are still %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k.remove(ctx) // although the context has ended
	nothingLeft(t, within)
	if len(s.warnings) != 0 {
		t.Errorf("warnings: %q", s.warnings)
	}
}

func TestScratchIsRefused(t *testing.T) {
	data, other := t.TempDir(), t.TempDir()
	for _, tc := range []struct {
		name   string
		within []string
		avoid  string
		bytes  int64
		want   string // in the error; "" for none
		made   string // where
	}{
		{"no room", []string{other}, "", 1 << 60, "are needed", ""},
		{"no such folder", []string{filepath.Join(other, "missing")}, "", 1, "no such file", ""},
		{"a file", []string{"/proc/self/exe"}, "", 1, "not a directory", ""},
		{"the dataset's folder", []string{data}, data, 1, "belongs to the dataset", ""},
		{"below the dataset's folder", []string{filepath.Join(data, "sub")}, data, 1, "belongs to the dataset", ""},
		{"the second place suits", []string{data, other}, data, 1, "", other},
		{"the dataset's folder, named by the person", []string{data}, "", 1, "", data},
	} {
		t.Run(tc.name, func(t *testing.T) {
			must.Do(t, os.MkdirAll(filepath.Join(data, "sub"), 0o700))
			var avoid []byte
			if tc.avoid != "" {
				avoid = []byte(tc.avoid)
			}
			k, err := scratchSession(t).scratchIn(t.Context(), optionScratch, tc.within, avoid, tc.bytes)
			switch {
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v", err)
			case tc.want == "" && err != nil:
				t.Fatal(err)
			case tc.want == "":
				if filepath.Dir(string(k.Path)) != tc.made {
					t.Errorf("made %s", k.Path)
				}
				k.remove(t.Context())
			}
			if got := append(left(t, other), left(t, data)...); !slices.Equal(got, []string{"sub"}) {
				t.Errorf("left behind: %q", got)
			}
		})
	}
}

func TestScratchOfKilledRun(t *testing.T) {
	within := t.TempDir()
	parent := exec.Command("/proc/self/exe", "__role", "keep a scratch folder", within)
	out := must.Get(parent.StdoutPipe())(t)
	must.Do(t, parent.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	theirs := strings.TrimSpace(line)
	if err != nil || filepath.Dir(theirs) != within {
		t.Fatalf("the other run says %q, %v", line, err)
	}
	must.Do(t, os.WriteFile(filepath.Join(theirs, "candidate.h5"), []byte("x"), 0o600))
	notOurs := filepath.Join(within, "pipetune-notes")
	must.Do(t, os.Mkdir(notOurs, 0o700))

	s := scratchSession(t)
	k := must.Get(s.scratchIn(t.Context(), optionScratch, []string{within}, nil, 1))(t)
	if got := left(t, theirs); len(got) != 2 {
		t.Errorf("the folder of a run that goes on holds %q", got)
	}
	k.remove(t.Context())

	must.Do(t, parent.Process.Kill())
	_ = parent.Wait() // it was killed
	// Its child, which holds the lock, is killed when the parent's thread ends, some time later.
	deadline := time.Now().Add(10 * time.Second)
	for {
		k = must.Get(s.scratchIn(t.Context(), optionScratch, []string{within}, nil, 1))(t)
		k.remove(t.Context())
		if _, err := os.Lstat(theirs); err != nil || time.Now().After(deadline) {
			break
		}
	}
	if got := left(t, within); !slices.Equal(got, []string{"pipetune-notes"}) {
		t.Errorf("left behind: %q", got)
	}
	if len(s.warnings) != 1 || !strings.HasPrefix(s.warnings[0], "removed 1 scratch folder") {
		t.Errorf("warnings: %q", s.warnings)
	}
}

// TestUnused holds the folders that have no lock, or nobody who holds it, against what is known of their process.
func TestUnused(t *testing.T) {
	gonePID := exec.Command("/bin/true")
	must.Do(t, gonePID.Run())
	dead, alive := fmt.Sprint(gonePID.Process.Pid), fmt.Sprint(os.Getpid())
	old := time.Now().Add(-time.Hour)
	for _, tc := range []struct {
		name string
		pid  string
		old  bool
		lock bool
		want bool
	}{
		{"no lock, old, process gone", dead, true, false, true},
		{"no lock, new, process gone: of another container perhaps", dead, false, false, false},
		{"no lock, old, process there", alive, true, false, false},
		{"lock not held, number of a process that is there", alive, false, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pipetune-"+tc.pid+"-0123456789abcdef")
			must.Do(t, os.Mkdir(path, 0o700))
			if tc.lock {
				must.Do(t, os.WriteFile(filepath.Join(path, lockName), nil, 0o600))
			}
			if tc.old {
				must.Do(t, os.Chtimes(path, old, old))
			}
			lock, free := unused(path, tc.pid)
			if free != tc.want {
				t.Errorf("unused: %v", free)
			}
			if lock != nil {
				_ = lock.Close()
			}
		})
	}
	link := filepath.Join(t.TempDir(), "pipetune-1-0123456789abcdef")
	must.Do(t, os.Symlink("/", link))
	if _, free := unused(link, dead); free {
		t.Error("a symbolic link is taken for a scratch folder")
	}
}

func TestFolder(t *testing.T) {
	for _, tc := range []struct {
		want  string
		paths []string
	}{
		{"/data", []string{"/data/a.h5"}},
		{"/data/train", []string{"/data/train/a/1.png", "/data/train/b/2.png"}},
		{"/data", []string{"/data/train/1.png", "/data/training/2.png"}},
		{"/", []string{"/a/1", "/b/1"}},
	} {
		var s dataset.Sample
		for _, p := range tc.paths {
			s.Files = append(s.Files, dataset.File{Path: []byte(p)})
		}
		if got := s.Folder(); got != tc.want {
			t.Errorf("%q lie in %s, want %s", tc.paths, got, tc.want)
		}
	}
}

// The pages of a folder in memory count against the limit that the job shares.
func TestScratchInMemoryNeedsMemory(t *testing.T) {
	var fs unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &fs); err != nil || int64(fs.Type) != unix.TMPFS_MAGIC {
		t.Fatal("/dev/shm is no tmpfs")
	}
	disk := must.Get(os.MkdirTemp("/var/tmp", "pipetune-test-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(disk) })
	s := scratchSession(t)
	s.spare = 8 << 20
	for needed, memory := range map[int64]bool{4 << 20: true, 16 << 20: false} {
		k := must.Get(s.scratchIn(t.Context(), "", []string{"/dev/shm", disk}, nil, needed))(t)
		if k.InMemory != memory {
			t.Errorf("%d MiB of 8: in %s", needed>>20, k.Path)
		}
		k.remove(t.Context())
	}
}
