package probe

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/must"
)

// longItems writes two files of 12 items, each a gzip chunk of 128 KiB that takes far longer than longItem, and damages
// item 5 of the first. The sample has all of them, and one that is not there; the two files' items alternate in threes.
func longItems(t *testing.T) dataset.Sample {
	t.Helper()
	folder := t.TempDir()
	paths := []string{filepath.Join(folder, "a.h5"), filepath.Join(folder, "b.h5")}
	script := `
import h5py, numpy, sys
for path in sys.argv[1:]:
    with h5py.File(path, "w") as f:
        f.create_dataset("z", data=numpy.random.default_rng(1).integers(0, 4096, (12, 128, 256)).astype("f4"), chunks=(1, 128, 256), compression="gzip")
with h5py.File(sys.argv[1], "r") as f:
    bad = f["z"].id.get_chunk_info(5)
with open(sys.argv[1], "r+b") as f:
    f.seek(bad.byte_offset)
    f.write(bytes(bad.size))
`
	must.Python(t, append([]string{"-c", script}, paths...)...)
	s := sampleOf(t, dataset.Source{Kind: dataset.HDF5, Dataset: "z", ChunkCacheBytes: new(int64)}, paths...)
	s.Items = nil
	for i := range int64(12) {
		for file := range paths {
			s.Items = append(s.Items, dataset.Ref{File: file, Index: i})
		}
	}
	slices.SortStableFunc(s.Items, func(a, b dataset.Ref) int { return int(a.Index/3 - b.Index/3) })
	s.Items = slices.Insert(s.Items, 20, dataset.Ref{File: 1, Index: 12})
	return s
}

// countingHandle counts how its items are read.
type countingHandle struct {
	dataset.Handle
	read, queued *int
}

func (c countingHandle) Read(item dataset.Ref, buf []byte) ([]byte, error) {
	*c.read++
	return c.Handle.Read(item, buf)
}

func (c countingHandle) Queue(item dataset.Ref, list *dataset.Sweep) error {
	err := c.Handle.(dataset.Sweeper).Queue(item, list)
	if err == nil {
		*c.queued++
	}
	return err
}

// loadBothWays loads with sweeps and without.
func loadBothWays(t *testing.T, sample dataset.Sample, q load) (swept, looped loaded) {
	t.Helper()
	for _, sweep := range []bool{true, false} {
		read, queued := 0, 0
		open := func(s dataset.Source, f dataset.File) (dataset.Handle, error) {
			h, err := s.Open(f)
			if c := (countingHandle{h, &read, &queued}); sweep {
				return c, err
			}
			return struct{ dataset.Handle }{h}, err
		}
		w := newState(sample, open)
		out, err := w.load(t.Context(), q)
		w.Forget()
		must.Do(t, err)
		p := out.Pass
		if p.Seconds < longItem*float64(p.Items) || p.CPU <= 0 {
			t.Errorf("%d items in %v s, %v s of CPU time", p.Items, p.Seconds, p.CPU)
		}
		if len(out.Times) != p.Items || slices.Min(out.Times) <= 0 {
			t.Errorf("%d times of %d items, the least %v s", len(out.Times), p.Items, slices.Min(out.Times))
		}
		if !sweep {
			looped = out
			continue
		}
		swept = out
		// On their own are read the first item of each file, and items that are refused: two at most.
		if alone := len(sample.Files) + 2; read > alone || queued < p.Items-alone {
			t.Errorf("%d of %d items were read on their own, %d swept", read, p.Items, queued)
		}
	}
	return swept, looped
}

func TestSweepsLoadAsLoops(t *testing.T) {
	sample := longItems(t)
	patches := sample
	patches.ItemShape = []int64{1, 100, 256}
	patches.Items = nil
	for _, ref := range sample.Items {
		patches.Items = append(patches.Items, dataset.Ref{File: ref.File, Index: ref.Index, Corner: []int64{ref.Index,
			28, 0}})
	}
	patches.Items[3].Corner = []int64{1, 29, 0} // one row too far
	uncounted := cmpopts.IgnoreFields(pass{}, "Seconds", "CPU", "IO")
	for _, c := range []struct {
		what   string
		sample dataset.Sample
		q      load
		items  int
		fails  int
	}{
		{"all", sample, load{Items: all(sample)}, 23, 2},
		{"from the middle", sample, load{Items: all(sample), From: 7}, 23, 2},
		{"once, with time to spare", sample, load{Items: all(sample), From: 3, Seconds: 60, Once: true}, 23, 2},
		{"backwards", sample, load{Items: func() []int { i := all(sample); slices.Reverse(i); return i }()}, 23, 2},
		{"three", sample, load{Items: []int{0, 1, 2}}, 3, 0},
		{"patches", patches, load{Items: all(patches)}, 22, 3},
	} {
		swept, looped := loadBothWays(t, c.sample, c.q)
		if diff := cmp.Diff(looped, swept, uncounted, cmpopts.IgnoreFields(loaded{}, "Times")); diff != "" {
			t.Errorf("%s: loops against sweeps: %s", c.what, diff)
		}
		if got := swept.Pass.Items; got != c.items || len(swept.Failures) != c.fails {
			t.Errorf("%s: %d items, %d failures, want %d and %d", c.what, got, len(swept.Failures), c.items, c.fails)
		}
	}
}

// A pass that ends on the clock ends in the middle of a sweep, and the next one goes on where it stopped.
func TestSweepsEndInTime(t *testing.T) {
	sample := longItems(t)
	w := newState(sample, dataset.Source.Open)
	defer w.Forget()
	items := []int{0, 1, 2, 6, 7, 8}
	out := must.Get(w.load(t.Context(), load{Items: items, From: 2,
		Seconds: (12 * time.Millisecond).Seconds()}))(t)
	if n := out.Pass.Items; n == 0 || len(out.Failures) > 0 || out.Next != (2+n)%len(items) {
		t.Errorf("%d items from 2 on, the next is %d: %+v", n, out.Next, out)
	}
}
