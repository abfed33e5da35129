package openfiles

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/procfs"
)

// shelf is a file system of names only.
type shelf map[string]bool

func (s shelf) Stat(_ context.Context, _, p string) (isolate.FileInfo, error) {
	for name := range s {
		if name == p || strings.HasPrefix(name, p+"/") {
			return isolate.FileInfo{}, nil
		}
	}
	return isolate.FileInfo{}, fs.ErrNotExist
}

func (s shelf) ReadDir(_ context.Context, _, p string, limit int) (isolate.Listing, error) {
	kinds := map[string]uint8{}
	for name := range s {
		rest, ok := strings.CutPrefix(name, strings.TrimSuffix(p, "/")+"/")
		if !ok {
			continue
		}
		first, _, deeper := strings.Cut(rest, "/")
		kinds[first] = unix.DT_REG
		if deeper {
			kinds[first] = unix.DT_DIR
		}
	}
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	out := isolate.Listing{More: len(names) > limit}
	for _, name := range names[:min(len(names), limit)] {
		out.Entries = append(out.Entries, isolate.Entry{Name: []byte(name), Type: kinds[name]})
	}
	return out, nil
}

func (s shelf) put(format string, n int) {
	for i := range n {
		s[fmt.Sprintf(format, i)] = true
	}
}

func TestFinderChoosesTheDataset(t *testing.T) {
	s := shelf{"/data/one/train.h5": true, "/data/one/val.h5": true, "/data/one/README": true, "/data/labels.csv": true,
		"/data/maps/a.npy": true}
	for class := range 20 {
		s.put(fmt.Sprintf("/data/imagenet/train/n%02d/", class)+"%d.JPEG", 50)
	}
	s.put("/data/flat/%d.jpg", 500)
	s.put("/data/perfile/%d.h5", 100)
	s.put("/data/shards/part-%d.h5", 6)
	for _, name := range strings.Fields("train val test backup old small tiny draft notes") {
		s["/data/mixed/"+name+".h5"] = true
	}
	for class := range maxWatches + 5 {
		s.put(fmt.Sprintf("/data/wide/c%04d/", class)+"%d.jpg", 4)
	}
	for _, c := range []struct {
		name, file, root string
		folder           bool
		watched, apart   int
		before           string // a file that was found before
	}{
		{"one HDF5 file beside another", "/data/one/train.h5", "/data/one/train.h5", false, 1, 1, ""},
		{"a NumPy array", "/data/maps/a.npy", "/data/maps/a.npy", false, 1, 1, ""},
		{"images by class", "/data/imagenet/train/n07/3.JPEG", "/data/imagenet/train", true, 21, 0, ""},
		{"images in one folder", "/data/flat/3.jpg", "/data/flat", true, 1, 0, ""},
		{"one HDF5 file for each sample", "/data/perfile/7.h5", "/data/perfile", true, 1, 100, ""},
		{"a few shards stay files", "/data/shards/part-3.h5", "/data/shards/part-3.h5", false, 1, 1, ""},
		{"labels", "/data/labels.csv", "/data/labels.csv", false, 1, 1, ""},
		{"more classes than can be watched", "/data/wide/c0007/1.jpg", "/data/wide", true, 0, 0, ""},
		{"one of many HDF5 files that are unlike", "/data/mixed/train.h5", "/data/mixed/train.h5", false, 1, 1, ""},
		{"another one of them", "/data/mixed/val.h5", "/data/mixed", true, 1, 9, "/data/mixed/train.h5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sc := &finder{paths: s, seen: []finding{{openFile: openFile{file: c.before}}}}
			f := finding{openFile: openFile{file: c.file, how: "fd"}, root: c.file,
				storage: procfs.Storage{Kind: procfs.StorageBlock, FSType: "ext4"}}
			sc.chooseRoot(t.Context(), place{root: "/"}, &f)
			sc.chooseWatches(t.Context(), place{root: "/"}, &f)
			got := []any{f.root, f.folder, len(f.watch), len(f.apart)}
			if diff := cmp.Diff([]any{c.root, c.folder, c.watched, c.apart}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (c.watched == 0) != (f.whyNot != "") {
				t.Errorf("reason %q", f.whyNot)
			}
			if !f.holds(c.file) || f.holds(path.Dir(c.root)+"/elsewhere") {
				t.Error("holds the wrong files")
			}
		})
	}
}

func TestFinderReachesContainers(t *testing.T) {
	mounts := []procfs.Mount{{ID: 1, Parent: 0, Point: "/", FSType: "overlay"}, {ID: 2, Parent: 1, Point: "/data",
		FSType: "ext4"}}
	for _, c := range []struct {
		name  string
		where place
		file  string
		want  [2]string
	}{
		{"same namespace", place{mounts: mounts, root: "/"}, "/data/a.h5", [2]string{"/data/a.h5", "/data"}},
		{"container", place{mounts: mounts, root: "/", prefix: "/proc/7/root"}, "/data/a.h5",
			[2]string{"/proc/7/root/data/a.h5", "/proc/7/root/data"}},
		{"chroot", place{mounts: mounts, root: "/srv/c"}, "/srv/c/data/a.h5", [2]string{"/srv/c/data/a.h5", "/data"}},
		{"chroot in a namespace of its own", place{mounts: mounts, root: "/srv/c", prefix: "/proc/7/root"},
			"/srv/c/data/a.h5", [2]string{"/proc/7/root/data/a.h5", "/proc/7/root/data"}},
	} {
		own, key := c.where.reach(c.file)
		if diff := cmp.Diff(c.want, [2]string{own, key}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
