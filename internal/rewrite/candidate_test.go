package rewrite

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/must"
)

// fiveLayouts makes HDF5 datasets x of 128 items of 64 x 64 x 3 bytes.
const fiveLayouts = `import sys, h5py, numpy as n
a = n.arange(128*64*64*3, dtype="u1").reshape(128, 64, 64, 3)
for name, how in {
    "contiguous": {}, "chunked": dict(chunks=(64, 64, 64, 3)), "by-item": dict(chunks=(1, 64, 64, 3)),
    "by-item-gzip": dict(chunks=(1, 64, 64, 3), compression="gzip"), "gzip": dict(chunks=(64, 64, 64, 3), compression="gzip", shuffle=True),
}.items():
    with h5py.File(sys.argv[1] + "/" + name + ".h5", "w") as f: f.create_dataset("x", data=a, **how)
`

func TestHDF5Candidates(t *testing.T) {
	dir := t.TempDir()
	must.Python(t, "-c", fiveLayouts, dir)
	for _, tc := range []struct {
		file string
		want []string
	}{
		{"contiguous", []string{"as-is", "chunk-item -l x:CHUNK=1x64x64x3"}},
		{"chunked", []string{"as-is", "chunk-item -l x:CHUNK=1x64x64x3", "contiguous -l x:CONTI"}},
		{"by-item", []string{"as-is", "contiguous -l x:CONTI"}},
		{"by-item-gzip", []string{"as-is", "chunk-item-unfiltered -l x:CHUNK=1x64x64x3 -f x:NONE",
			"contiguous -l x:CONTI -f x:NONE"}},
		{"gzip", []string{"as-is", "chunk-item -l x:CHUNK=1x64x64x3",
			"chunk-item-unfiltered -l x:CHUNK=1x64x64x3 -f x:NONE", "unfiltered -f x:NONE",
			"contiguous -l x:CONTI -f x:NONE"}},
	} {
		path := filepath.Join(dir, tc.file+".h5")
		list, err := trying(t, path).hdf5Candidates(1 << 20)
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

// Items that are too small for chunks of their own get none: ten million rows of 64 bytes would make as many chunks.
func TestHDF5CandidatesOfSmallItems(t *testing.T) {
	path := filepath.Join(t.TempDir(), "features.h5")
	for how, want := range map[string][]string{
		`chunks=(4096, 16), compression="gzip"`: {"as-is", "unfiltered", "contiguous"},
		`chunks=(4096, 16)`:                     {"as-is", "contiguous"},
		`chunks=(1, 16)`:                        {"as-is", "contiguous"},
		``:                                      {"as-is"},
	} {
		must.Python(t, "-c", "import sys, h5py\nwith h5py.File(sys.argv[1], 'w') as f: f.create_dataset('features', "+
			"(40000, 16), 'f4', "+how+")", path)
		s := trying(t, path)
		list, err := s.hdf5Candidates(trySample)
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		var got []string
		for _, c := range list {
			got = append(got, c.name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", how, diff)
		}
		if len(want) > 1 {
			continue
		}
		if err := Layouts(t.Context(), s.Job); err != nil || len(s.abstained) != 1 ||
			!strings.Contains(s.abstained[0].Reason, "too small for chunks of their own") {
			t.Errorf("nothing to try: %v, %+v", err, s.abstained)
		}
	}
}

// A run of many items is met from its beginning to its end.
func TestRunItemsLieAllOverTheRun(t *testing.T) {
	const n = 4_000_000
	items := runItems(dataset.Sample{}, plan{}, n)
	if last := items[len(items)-1].Index; len(items) != mostRunItems || last < n-n/100 || last >= n {
		t.Errorf("%d items, the last at %d of %d", len(items), last, n)
	}
	patches := runItems(dataset.Sample{Source: dataset.Source{ItemShape: []int64{2, 4}},
		Items: []dataset.Ref{{Corner: []int64{0, 3}}}}, plan{}, n)
	if last := patches[len(patches)-1].Corner[0]; len(patches) != mostRunItems || last < n-n/100 || last+2 > n {
		t.Errorf("%d patches, the last at %d of %d", len(patches), last, n)
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
		{"more chunks than are written", []int64{1}, 0, 1 << 30, 0, 1 << 22, mostRunChunks},
	} {
		var access dataset.Access
		access.Dataset.Shape = []int64{tc.shape}
		s := jobOf(nil, dataset.Sample{Files: make([]dataset.File, 1), Items: []dataset.Ref{{Index: tc.first}}},
			&access)
		got := s.runOf(tc.chunk, 10, 10*tc.items).Relayout
		if got.First != tc.want || got.Count != tc.count {
			t.Errorf("%s: %d from %d on, want %d from %d on", tc.name, got.Count, got.First, tc.count, tc.want)
		}
	}
}

func TestRepackOfManyFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a folder")
	for _, sub := range []string{"", "sub"} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, sub), 0o700))
		must.Python(t, "-c", fiveLayouts, filepath.Join(dir, sub))
	}
	sample, access := surveyed(t, dir)
	s := jobOf(nil, sample, access)
	runCommand(t, s.repack("x", "-l x:CONTI", "-f x:NONE"))
	for _, sub := range []string{"", "sub"} {
		var got []string
		for _, name := range left(t, filepath.Join(dir+"-new", sub)) {
			if strings.HasSuffix(name, ".h5") {
				got = append(got, name)
			}
		}
		if want := []string{"by-item-gzip.h5", "by-item.h5", "chunked.h5", "contiguous.h5",
			"gzip.h5"}; !slices.Equal(got, want) {
			t.Errorf("in %q: %q", sub, got)
		}
	}
	if s.repack("a:b", "-l a:b:CONTI") != "" {
		t.Error("a name that h5repack cannot take has a command")
	}
}

func TestRunItemsOfPatches(t *testing.T) {
	sample := dataset.Sample{Source: dataset.Source{ItemShape: []int64{2, 4, 4}},
		Items: []dataset.Ref{{Corner: []int64{700, 3, 5}}, {Corner: []int64{12, 1, 0}}}}
	items := runItems(sample, plan{Seed: 1}, 7)
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
