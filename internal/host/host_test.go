package host

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/procfs/fakeroot"
	"github.com/pipetune/pipetune/internal/recording"
)

// fixedAnswer is a PathService that always says the same.
type fixedAnswer struct {
	fs  isolate.FileSystem
	err error
}

func (f fixedAnswer) Statfs(context.Context, string, string) (isolate.FileSystem, error) {
	return f.fs, f.err
}

func self(t *testing.T) procfs.ID { return process(t, procfs.FS{}, os.Getpid()).Target }

// process names a process of a machine.
func process(t *testing.T, fs procfs.FS, pid int) Options {
	t.Helper()
	p := must.Get(fs.Open(pid))(t)
	defer p.Close()
	return Options{FS: fs, Target: p.ID}
}

func TestDescribeThisMachine(t *testing.T) {
	h, notes, err := Describe(Options{Target: self(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", h)
	t.Logf("%+v", notes)
	if h.Kernel == "" || h.CPUsPresent < 1 || h.CPUsUsable <= 0 || h.CPUsUsable > float64(h.CPUsPresent) ||
		h.MemoryBytes < 64<<20 || h.CgroupVersion == "" {
		t.Errorf("implausible: %+v", h)
	}
}

// fakeMachine unpacks one machine of testdata/proc and names a process of it.
func fakeMachine(t *testing.T, name string, pid int) Options {
	t.Helper()
	return process(t, procfs.FS{Root: fakeroot.Machine(t, name).Dir}, pid)
}

func TestDescribeFixtures(t *testing.T) {
	for _, c := range []struct {
		root  string
		pid   int
		want  recording.Host
		notes int
	}{
		{"cgroup-v2", 4700, recording.Host{
			Kernel: "6.12.0-amd64", CPUsPresent: 2, CoresPhysical: 2, CPUsUsable: 2.5, CPUsAffinity: 8, CPUsCpuset: 4,
			CPUQuota: new(2.5), MemoryBytes: 65536000 << 10, MemoryLimit: new(int64(16 << 30)),
			SwapDevices: []string{"/dev/zram0", "/dev/dm-2"}, CgroupVersion: "v2", PtraceScope: new(1)}, 0},
		{"debian12-hybrid", 19868, recording.Host{
			Kernel: "6.18.44", CPUsPresent: 2, CoresPhysical: 2, CPUsUsable: 2, CPUsAffinity: 2, CPUsCpuset: 2,
			MemoryBytes: 24684092 << 10, CgroupVersion: "hybrid", Virtual: "vm"}, 0},
		// No kernel release, no swaps, no cgroup: three notes, and no zero that looks like a measurement.
		{"bare", 7, recording.Host{CPUsUsable: 2, CPUsAffinity: 2, MemoryBytes: 2048000 << 10, CgroupVersion: "none"},
			3},
	} {
		got, notes, err := Describe(fakeMachine(t, c.root, c.pid))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.root, diff)
		}
		if len(notes) != c.notes {
			t.Errorf("%s: notes %+v, want %d", c.root, notes, c.notes)
		}
	}
}

func TestStorageOfFixtures(t *testing.T) {
	for path, want := range map[string]recording.Storage{
		"/home/me/train.h5": {Path: "~/train.h5", FSType: "ext4", Kind: "disk", Devices: []string{"nvme0n1"},
			Rotational: new(false), Model: "Samsung SSD 980 PRO 1TB"},
		"/scratch/x": {Path: "/scratch/x", FSType: "xfs", Kind: "disk", Devices: []string{"sda", "sdb"},
			Rotational: new(true)},
		"/nfs/x":     {Path: "/nfs/x", FSType: "nfs4", Kind: "network"},
		"/dev/shm/x": {Path: "/dev/shm/x", FSType: "tmpfs", Kind: "tmpfs"},
	} {
		o := fakeMachine(t, "cgroup-v2", 4700)
		o.Redaction.Home = "/home/me"
		if diff := cmp.Diff(want, must.Get(Storage(t.Context(), o, path))(t)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

// TestMagicCorrectsAnUnknownKind: where the mount table leads nowhere, the file system's own number is asked, and
// where that does not answer the kind stays unknown.
func TestMagicCorrectsAnUnknownKind(t *testing.T) {
	for want, answer := range map[string]fixedAnswer{"disk": {fs: isolate.FileSystem{Type: 0xEF53}},
		"unknown": {err: &isolate.TimeoutError{Task: "paths", Key: "/"}}} {
		o := fakeMachine(t, "container-v2", 7)
		o.Paths = answer
		if got := must.Get(Storage(t.Context(), o, "/opt/data"))(t); got.Kind != want {
			t.Errorf("answered %+v: %+v", answer, got)
		}
	}
}

func TestDescribeNeedsTheSameProcess(t *testing.T) {
	id := self(t)
	id.Start++
	if _, _, err := Describe(Options{Target: id}); !errors.Is(err, procfs.ErrGone) {
		t.Errorf("a reused number gave %v, want ErrGone", err)
	}
}

func TestStorageOfThisMachine(t *testing.T) {
	s := must.Get(Storage(t.Context(), Options{Target: self(t)}, "/dev/shm/x"))(t)
	if s.Kind != "tmpfs" || s.FSType != "tmpfs" || len(s.Devices) != 0 {
		t.Errorf("/dev/shm is %+v", s)
	}
}
