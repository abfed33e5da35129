package hdf5

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// damaged copies the file of layouts and overwrites the gzip chunk that holds item 9, with its neighbours 8 to 15.
func damaged(t *testing.T) string {
	t.Helper()
	content := must.Get(os.ReadFile("../../testdata/datasets/layouts.h5"))(t)
	path := filepath.Join(t.TempDir(), "damaged.h5")
	must.Do(t, os.WriteFile(path, content, 0o600))
	at, size, err := reader(t, path, ReaderOptions{Dataset: "gzip"}).ChunkPlace([]int64{9, 0, 0})
	if err != nil || at < 1 || size < 1 {
		t.Fatalf("a chunk of %d bytes at %d, %v", size, at, err)
	}
	clear(content[at:][:size])
	must.Do(t, os.WriteFile(path, content, 0o600))
	return path
}

// A sweep reads what single calls read, whole items and blocks of several readers mixed, and fails where they fail,
// with the same words.
func TestSweepReadsAsSingleCalls(t *testing.T) {
	path := damaged(t)
	whole, gzip := reader(t, path, ReaderOptions{Dataset: "contiguous"}),
		reader(t, path, ReaderOptions{Dataset: "gzip"})
	scalar := reader(t, path, ReaderOptions{Dataset: "types/scalar"})
	never := reader(t, path, ReaderOptions{Dataset: "unallocated"})
	size := []int64{2, 3, 2}
	type item struct {
		r     *Reader
		index int64
		start []int64
		count []int64
	}
	list := []item{
		{r: whole, index: 23}, {r: gzip, index: 3}, {r: gzip, index: -1, start: []int64{20, 1, 4}, count: size},
		{r: scalar, index: -1},
		{r: whole, index: -1, start: []int64{0, 0, 0}, count: []int64{24, 4, 6}}, {r: never, index: 0},
		{r: gzip, index: -1, start: []int64{3, 3, 3}, count: []int64{0, 1, 1}},
		{r: gzip, index: 9}, {r: whole, index: 1},
	}
	const bad = 7
	var s Sweep
	took := make([]time.Duration, len(list))
	total := int64(0)
	for i, it := range list {
		var want []byte
		var refused error
		if it.index >= 0 {
			want, refused = it.r.Item(it.index, nil)
			must.Do(t, s.Item(it.r, it.index))
		} else {
			want, refused = it.r.Block(it.start, it.count, nil)
			must.Do(t, s.Block(it.r, it.start, it.count))
		}
		clear(took)
		done, n, got, err := s.Read(bytes.Repeat([]byte{0xaa}, 30), took, time.Hour)
		if i >= bad {
			if done != bad || n != total || err == nil || i == bad && err.Error() != refused.Error() {
				t.Errorf("%d items of %d bytes before the damaged one: %v, want %d of %d bytes and %v", done, n, err,
					bad, total, refused)
			}
			continue
		}
		total += int64(len(want))
		if err != nil || refused != nil || done != i+1 || n != total || !bytes.Equal(got, want) {
			t.Errorf("item %d: %d read with %d bytes, %v, %v; want %d bytes, the last %v, %v", i, done, n, got, err,
				total, want, refused)
		}
		for j := range done {
			if took[j] <= 0 {
				t.Errorf("item %d of %d took %v", j, done, took[j])
			}
		}
	}
	if s.Len() != len(list) {
		t.Errorf("%d on the list", s.Len())
	}
	s.Clear()
	if done, n, _, err := s.Read(nil, nil, time.Hour); done != 0 || n != 0 || err != nil {
		t.Errorf("an empty list: %d, %d, %v", done, n, err)
	}
	must.Do(t, s.Block(gzip, []int64{9, 1, 1}, size))
	_, want := gzip.Block([]int64{9, 1, 1}, size, nil)
	if done, _, _, err := s.Read(nil, took, time.Hour); done != 0 || err == nil || want == nil ||
		err.Error() != want.Error() {
		t.Errorf("a damaged block: %d, %v; want %v", done, err, want)
	}
}

func TestSweepRefusesWhatSingleCallsRefuse(t *testing.T) {
	path := filepath.Join("../../testdata/datasets", "layouts.h5")
	r, scalar := reader(t, path, ReaderOptions{Dataset: "gzip"}),
		reader(t, path, ReaderOptions{Dataset: "types/scalar"})
	closed := must.Get(OpenReader(path, ReaderOptions{Dataset: "gzip"}))(t)
	var s Sweep
	must.Do(t, s.Item(closed, 2))
	must.Do(t, closed.Close())
	if done, _, _, err := s.Read(nil, make([]time.Duration, 1), time.Hour); done != 0 || !errors.Is(err, errClosed) {
		t.Errorf("a reader that was closed meanwhile: %d, %v", done, err)
	}
	s.Clear()
	same := func(what string, got, want error) {
		if got == nil || want == nil || got.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for _, index := range []int64{-1, 24} {
		_, want := r.Item(index, nil)
		same("an index out of range", s.Item(r, index), want)
	}
	_, want := scalar.Item(0, nil)
	same("an item of a scalar", s.Item(scalar, 0), want)
	_, want = closed.Item(0, nil)
	same("a closed reader", s.Item(closed, 0), want)
	for _, start := range [][]int64{{23, 0, 0}, {0, 0}, {-1, 0, 0}} {
		_, want := r.Block(start, []int64{2, 1, 1}, nil)
		same("a block out of range", s.Block(r, start, []int64{2, 1, 1}), want)
	}
	if s.Len() != 0 {
		t.Errorf("%d refused items are on the list", s.Len())
	}
}

// What was never written, and has no fill value, must not show the item before.
func TestSweepClearsGaps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gaps.h5")
	script := `
import h5py, numpy, sys
with h5py.File(sys.argv[1], "w") as f:
    how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    how.set_chunk((1, 8))
    how.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    x = h5py.Dataset(h5py.h5d.create(f.id, b"x", h5py.h5t.NATIVE_UINT8, h5py.h5s.create_simple((4, 8)), how))
    x[1] = 9
`
	must.Python(t, "-c", script, path)
	r := reader(t, path, ReaderOptions{Dataset: "x"})
	if !r.gaps {
		t.Fatal("libhdf5 would fill")
	}
	var s Sweep
	for i, want := range [][]byte{make([]byte, 8), bytes.Repeat([]byte{9}, 8), make([]byte, 8)} {
		must.Do(t, s.Item(r, int64(i)))
		if _, _, got, err := s.Read(nil, make([]time.Duration, 3), time.Hour); err != nil || !bytes.Equal(got, want) {
			t.Errorf("item %d: %v, %v", i, got, err)
		}
	}
}

// The limit ends a sweep after the item that passes it, so the least limit reads one item.
func TestSweepEndsAtItsLimit(t *testing.T) {
	r := reader(t, "../../testdata/datasets/layouts.h5", ReaderOptions{Dataset: "gzip"})
	var s Sweep
	for i := range int64(5) {
		must.Do(t, s.Item(r, i))
	}
	took, buf := make([]time.Duration, 5), make([]byte, 24)
	for _, limit := range []time.Duration{-1, 0, 1} {
		if done, n, _, err := s.Read(buf, took, limit); done != 1 || n != 24 || err != nil {
			t.Errorf("within %v: %d items, %d bytes, %v", limit, done, n, err)
		}
	}
	if n := testing.AllocsPerRun(10, func() {
		s.Clear()
		for i := range int64(5) {
			must.Do(t, s.Item(r, i))
		}
		if done, _, _, err := s.Read(buf, took, time.Hour); done != 5 || err != nil {
			t.Fatal(done, err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	defer func() {
		if recover() == nil {
			t.Error("times were written where there is no room")
		}
	}()
	_, _, _, err := s.Read(buf, took[:4], time.Hour)
	t.Error(err)
}
