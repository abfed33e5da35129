package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/dataset"
)

// fiveLayouts makes HDF5 datasets x of 128 items of 8 x 8 x 3 bytes.
const fiveLayouts = `import sys, h5py, numpy as n
a = n.arange(128*8*8*3, dtype="u1").reshape(128, 8, 8, 3)
for name, how in {
    "contiguous": {}, "chunked": dict(chunks=(64, 8, 8, 3)), "by-item": dict(chunks=(1, 8, 8, 3)),
    "by-item-gzip": dict(chunks=(1, 8, 8, 3), compression="gzip"), "gzip": dict(chunks=(64, 8, 8, 3), compression="gzip", shuffle=True),
}.items():
    with h5py.File(sys.argv[1] + "/" + name + ".h5", "w") as f: f.create_dataset("x", data=a, **how)
`

func TestHDF5Candidates(t *testing.T) {
	dir := t.TempDir()
	runPython(t, fiveLayouts, dir)
	for _, tc := range []struct {
		file string
		want []string
	}{
		{"contiguous", []string{"as-is", "chunk-item -l x:CHUNK=1x8x8x3"}},
		{"chunked", []string{"as-is", "chunk-item -l x:CHUNK=1x8x8x3", "contiguous -l x:CONTI"}},
		{"by-item", []string{"as-is", "contiguous -l x:CONTI"}},
		{"by-item-gzip", []string{"as-is", "chunk-item-unfiltered -l x:CHUNK=1x8x8x3 -f x:NONE", "contiguous -l x:CONTI -f x:NONE"}},
		{"gzip", []string{"as-is", "chunk-item -l x:CHUNK=1x8x8x3", "chunk-item-unfiltered -l x:CHUNK=1x8x8x3 -f x:NONE", "unfiltered -f x:NONE", "contiguous -l x:CONTI -f x:NONE"}},
	} {
		path := filepath.Join(dir, tc.file+".h5")
		list, err := trying(t, path, Options{}).hdf5Candidates(1 << 20)
		if err != nil {
			t.Errorf("%s: %v", tc.file, err)
			continue
		}
		var got []string
		for _, c := range list {
			command := strings.TrimSuffix(c.command, " "+path+" "+filepath.Join(dir, tc.file+"-new.h5"))
			got = append(got, strings.TrimSpace(c.name+strings.TrimPrefix(command, "h5repack")))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.file, diff)
		}
	}
}

// TestRun holds the run that is rewritten against chunks and the ends of the dataset.
func TestRun(t *testing.T) {
	for _, tc := range []struct {
		name               string
		chunk              []int64
		first, shape, want int64
		items, count       int64
	}{
		{"begins at its chunk", []int64{64}, 100, 1000, 64, 200, 192},
		{"less than a chunk", []int64{64}, 100, 1000, 64, 10, 10},
		{"moved back from the end", []int64{64}, 990, 1000, 768, 200, 192},
		{"contiguous", nil, 100, 1000, 100, 200, 200},
		{"more than there is", nil, 100, 120, 0, 200, 200},
	} {
		var access dataset.Access
		access.Dataset.Shape = []int64{tc.shape}
		s := newSession(nil, dataset.Sample{Files: make([]dataset.File, 1), Items: []dataset.Ref{{Index: tc.first}}}, Options{Layout: &access})
		got := s.runOf(tc.chunk, 10, 10*tc.items).Relayout
		if got.First != tc.want || got.Count != tc.count {
			t.Errorf("%s: %d from %d on, want %d from %d on", tc.name, got.Count, got.First, tc.count, tc.want)
		}
	}
}

func TestRepackOfManyFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a folder")
	for _, sub := range []string{"", "sub"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
		runPython(t, fiveLayouts, filepath.Join(dir, sub))
	}
	sample, access := surveyed(t, dir)
	s := newSession(nil, sample, Options{Layout: access})
	runCommand(t, s.repack("x", "-l x:CONTI", "-f x:NONE"))
	for _, sub := range []string{"", "sub"} {
		var got []string
		for _, name := range left(t, filepath.Join(dir+"-new", sub)) {
			if strings.HasSuffix(name, ".h5") {
				got = append(got, name)
			}
		}
		if want := []string{"by-item-gzip.h5", "by-item.h5", "chunked.h5", "contiguous.h5", "gzip.h5"}; !slices.Equal(got, want) {
			t.Errorf("in %q: %q", sub, got)
		}
	}
	if s.repack("a:b", "-l a:b:CONTI") != "" {
		t.Error("a name that h5repack cannot take has a command")
	}
}

func TestRunItemsOfPatches(t *testing.T) {
	sample := dataset.Sample{Source: dataset.Source{ItemShape: []int64{2, 4, 4}}, Items: []dataset.Ref{{Corner: []int64{700, 3, 5}}, {Corner: []int64{12, 1, 0}}}}
	items := runItems(sample, rewrite{Seed: 1}, 7)
	var got []int64
	for _, item := range items {
		got = append(got, item.Corner[0])
		if rest := item.Corner[1:]; !slices.Equal(rest, []int64{3, 5}) && !slices.Equal(rest, []int64{1, 0}) {
			t.Errorf("a patch at %v", item.Corner)
		}
	}
	if !slices.Equal(got, []int64{0, 2, 4}) {
		t.Errorf("patches begin at %v of 7 indices", got)
	}
}
