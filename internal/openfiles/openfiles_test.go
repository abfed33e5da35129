package openfiles

import (
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

func TestMayBeData(t *testing.T) {
	for file, want := range map[string]bool{
		"/data/train.h5":                    true,
		"/data/img/class 1/a.JPEG":          true,
		"/home/me/labels.csv":               true,
		"/dev/shm/cache/a.npy":              true,
		"/var/tmp/jobs/x.h5":                true,
		"/usr/lib/x86_64/libtorch.so.1.13":  false,
		"/opt/venv/lib/python3.11/a.npy":    false,
		"/dev/shm/torch_123_456_7":          false,
		"/dev/nvidia0":                      false,
		"/proc/self/maps":                   false,
		"/etc/passwd":                       false,
		"/home/me/train.py":                 false,
		"/home/me/run.log":                  false,
		"/home/me/events.out.tfevents.1.x":  false,
		"/data/train.h5 (deleted)":          false,
		"pipe:[123]":                        false,
		"socket:[1]":                        false,
		"/usr/share/zoneinfo/Europe/Berlin": false,
		"/memfd:x (deleted)":                false,
		"":                                  false,
	} {
		if got := mayBeData(file); got != want {
			t.Errorf("%q: %v, want %v", file, got, want)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range [][3]string{
		{"/data/a.h5", "/", "/data/a.h5"},
		{"/var/chroot/data/a.h5", "/var/chroot", "/data/a.h5"},
		{"/var/chroots/a.h5", "/var/chroot", "/var/chroots/a.h5"},
		{"/var/chroot", "/var/chroot", "/"},
		{"/elsewhere/a.h5", "/var/chroot", "/elsewhere/a.h5"},
	} {
		if got := within(c[0], c[1]); got != c[2] {
			t.Errorf("within(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// counted watches paths and returns the dataset.
func counted(t *testing.T, paths, apart []string) (*openCounter, *dataset) {
	t.Helper()
	c := must.Get(newOpenCounter())(t)
	t.Cleanup(c.close)
	d := &dataset{names: map[uint64]struct{}{}}
	must.Do(t, c.add(d, paths, apart))
	return c, d
}

func open(t *testing.T, file string, times int) {
	t.Helper()
	for range times {
		f := must.Get(os.Open(file))(t)
		f.Close()
	}
}

func create(t *testing.T, file string) string {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must.Do(t, os.WriteFile(file, []byte("x"), 0o644))
	return file
}

func TestEveryOpenOfOneFileIsCounted(t *testing.T) {
	dir := t.TempDir()
	file, other := create(t, filepath.Join(dir, "a.h5")), create(t, filepath.Join(dir, "b.log"))
	c, d := counted(t, []string{file}, []string{dir})
	open(t, file, 1000)
	open(t, other, 10)
	c.read()
	if d.opens != 1000 || len(d.names) != 1 {
		t.Errorf("%d opens of %d files, want 1000 of 1", d.opens, len(d.names))
	}
}

func TestOpensInAFolderAreCountedByName(t *testing.T) {
	dir := t.TempDir()
	var folders []string
	for i := range 3 {
		for k := range 10 {
			create(t, filepath.Join(dir, fmt.Sprint("class", i), fmt.Sprint(k, ".jpg")))
		}
		folders = append(folders, filepath.Join(dir, fmt.Sprint("class", i)))
	}
	c, d := counted(t, append([]string{dir}, folders...), nil)
	for range 2 {
		for _, folder := range folders {
			for k := range 10 {
				open(t, filepath.Join(folder, fmt.Sprint(k, ".jpg")), 1)
			}
		}
	}
	if _, err := os.ReadDir(folders[0]); err != nil { // listing a folder opens it, and is no open of a file
		t.Fatal(err)
	}
	c.read()
	if d.opens != 60 || len(d.names) != 30 {
		t.Errorf("%d opens of %d files, want 60 of 30", d.opens, len(d.names))
	}
}

func TestAnOverflowIsSaid(t *testing.T) {
	c, d := counted(t, []string{t.TempDir()}, nil)
	record := make([]byte, unix.SizeofInotifyEvent)
	copy(record, []byte{0xff, 0xff, 0xff, 0xff, 0, 0x40, 0, 0})
	c.take(record)
	if !c.lost || d.opens != 0 {
		t.Errorf("lost %v, opens %d", c.lost, d.opens)
	}
}

func FuzzOpenEvents(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 'a', 0, 0, 0})
	f.Add([]byte{1, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &dataset{names: map[uint64]struct{}{}}
		c := &openCounter{owner: map[int32]*dataset{1: d}, apart: map[int32]bool{}, seed: maphash.MakeSeed()}
		c.take(b)
		if d.opens > int64(len(b)/unix.SizeofInotifyEvent) {
			t.Errorf("%d opens in %d bytes", d.opens, len(b))
		}
	})
}

func TestAWatchThatFailsLeavesNothing(t *testing.T) {
	c := must.Get(newOpenCounter())(t)
	defer c.close()
	if err := c.add(&dataset{}, []string{filepath.Join(t.TempDir(), "none")}, nil); err == nil {
		t.Error("no error for a path that is not there")
	}
	if len(c.owner) != 0 || len(c.apart) != 0 {
		t.Errorf("left behind: %v %v", c.owner, c.apart)
	}
}

// events is a Sink that keeps what kinds of events there were of what.
type events []string

func (e *events) Add(metric.Desc, string, float64) {}
func (e *events) Event(kind, entity string, _ map[string]string) {
	*e = append(*e, kind+" "+entity)
}
func (e *events) Unseen(string, string, string, string) {}

func TestAFolderTakesOverItsFiles(t *testing.T) {
	f := New(Config{FS: procfs.FS{Root: t.TempDir()}})
	dir := t.TempDir()
	file := create(t, filepath.Join(dir, "a.h5"))
	count := must.Get(newOpenCounter())(t)
	f.count = count
	defer f.Close()
	sink := &events{}
	f.adopt(finding{openFile: openFile{file: file, how: "map"}, root: file, watch: []string{file},
		apart: []string{dir}}, sink)
	f.adopt(finding{openFile: openFile{file: file, how: "map"}, root: file}, sink) // again
	f.adopt(finding{openFile: openFile{file: filepath.Join(dir, "b.h5"), how: "map"}, root: dir, folder: true,
		watch: []string{dir}}, sink)
	if diff := cmp.Diff(events{"dataset dataset/0", "dataset dataset/1"}, *sink); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if len(f.datasets) != 1 || f.datasets[0].root != dir {
		t.Errorf("%d datasets", len(f.datasets))
	}
	open(t, file, 1)
	f.count.read()
	if got := f.datasets[0].opens; got != 1 {
		t.Errorf("%d opens, want 1", got)
	}
}

func TestFilesOnOtherMachinesAreNotWatched(t *testing.T) {
	for fstype, kind := range map[string]procfs.StorageKind{"nfs4": procfs.StorageNetwork,
		"fuse.sshfs": procfs.StorageFUSE, "9p": procfs.StorageShared, "": ""} {
		f := finding{root: "/mnt/data/a.h5", storage: procfs.Storage{Kind: kind, FSType: fstype}}
		(&finder{}).chooseWatches(t.Context(), place{}, &f)
		if len(f.watch) != 0 || f.whyNot == "" {
			t.Errorf("%s: watch %v, reason %q", fstype, f.watch, f.whyNot)
		}
	}
}

func TestDatasetAttributes(t *testing.T) {
	size, files, ratio := int64(1<<20), int64(1), 64.0
	d := &dataset{finding: finding{
		openFile: openFile{file: "/home/me/data/a\x1b[31m.h5", how: "fd"}, root: "/home/me/data/a\x1b[31m.h5",
		storage: procfs.Storage{Kind: procfs.StorageMemory, FSType: "tmpfs"},
		facts: Facts{Dataset: recording.Dataset{Kind: "hdf5", Bytes: &size, Files: &files},
			Layout: &recording.Layout{Name: "/x", Layout: "chunked", Amplification: &ratio, ItemBytes: &size}},
	}}
	r := untrusted.Redaction{Home: "/home/me"}
	want := map[string]string{"path": `~/data/a\x1b[31m.h5`, "how": "fd", "kind": "hdf5", "folder": "0",
		"bytes": "1048576", "files": "1", "extension": ".h5", "fstype": "tmpfs",
		"tmpfs": "1", "network": "0"}
	if diff := cmp.Diff(want, recording.Attrs(d.row(r, true))); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	layout := recording.Attrs(d.layout(r, "2.2"))
	if layout["amplification"] != "64" || layout["cache_bytes"] != "8388608" || layout["item_bytes"] != "1048576" {
		t.Errorf("layout %v", layout)
	}
	if _, there := recording.Attrs(d.layout(r, ""))["cache_bytes"]; there {
		t.Error("a cache size without a version")
	}
	d.folder, d.facts.Files = true, new(int64(5000))
	if _, there := recording.Attrs(d.layout(r, "1.10"))["amplification"]; there {
		t.Error("an amplification for files of one sample each")
	}
	for key, v := range layout {
		if strings.ContainsRune(v, 0x1b) {
			t.Errorf("%s holds an escape", key)
		}
	}
}

func TestWhatATrainerWritesIsNoData(t *testing.T) {
	dir := t.TempDir()
	data := create(t, filepath.Join(dir, "train.h5"))
	checkpoint := must.Get(os.Create(filepath.Join(dir, "last.pt")))(t)
	defer checkpoint.Close()
	reading := must.Get(os.Open(data))(t)
	defer reading.Close()
	self := must.Get(procfs.FS{}.Open(os.Getpid()))(t)
	defer self.Close()
	for worker, want := range map[bool][]string{false: {data}, true: {data, checkpoint.Name()}} {
		got := must.Get(openData(self, worker, func(string) bool { return false }))(t)
		ours := slices.DeleteFunc(got, func(file string) bool { return !strings.HasPrefix(file, dir) })
		slices.Sort(ours)
		slices.Sort(want)
		if diff := cmp.Diff(want, ours); diff != "" {
			t.Errorf("worker %v (-want +got):\n%s", worker, diff)
		}
	}
}

// TestMappedFilesAreLookedForAgain goes through the calls of a default watch: a dataset that is mapped after the first
// samples, or by another process than the first, is found in it, and a job whose data is known is hardly bothered.
func TestMappedFilesAreLookedForAgain(t *testing.T) {
	for _, c := range []struct {
		name        string
		datasets    int
		least, most time.Duration // between two listings, after the first look at what is there
	}{
		{"no data found", 0, 2 * time.Second, 3 * time.Second},
		{"data found", 1, 10 * time.Second, 10 * time.Second},
	} {
		f := &Sampler{datasets: make([]*dataset, c.datasets)}
		var at, before time.Duration
		samples, wasCalm := 0, false
		for at < 30*time.Second {
			calm := f.calls > firstCalls
			if f.mapsDue() {
				if gap := at - before; wasCalm && (gap < c.least || gap > c.most) {
					t.Errorf("%s: listed at %v and at %v", c.name, before, at)
				}
				before, samples, wasCalm = at, samples+1, calm
			}
			f.calls++
			at += f.Every()
		}
		if samples < 3 {
			t.Errorf("%s: %d listings in 30 s", c.name, samples)
		}
	}
}
