package hdf5

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// content is all of a dataset's elements from an index on.
func content(t *testing.T, path, dataset string, first, count int64) ([]byte, Dataset) {
	t.Helper()
	r := must.Get(OpenReader(path, ReaderOptions{Dataset: dataset}))(t)
	defer r.Close()
	start, shape := make([]int64, len(r.Shape())), r.Shape()
	start[0], shape[0] = first, count
	got := must.Get(r.Block(start, shape, nil))(t)
	return got, r.Dataset()
}

func TestRewrite(t *testing.T) {
	src := filepath.Join(fixtures, "layouts.h5")
	for _, c := range []struct {
		dataset string
		options Relayout
		chunk   []int64
		filters string
	}{
		{"contiguous", Relayout{}, nil, ""},
		{"gzip", Relayout{Unfiltered: true}, nil, ""},
		{"gzip", Relayout{Chunk: []int64{1, 4, 6}}, []int64{1, 4, 6}, "gzip"},
		{"gzip", Relayout{Chunk: []int64{1, 4, 6}, First: 5, Count: 11}, []int64{1, 4, 6}, "gzip"},
		{"gzip_shuffle", Relayout{Chunk: []int64{3, 2, 5}, First: 1}, []int64{3, 2, 5}, "shuffle gzip fletcher32"},
		{"gzip_shuffle", Relayout{Chunk: []int64{100, 2, 5}, Unfiltered: true, Count: 7}, []int64{7, 2, 5}, ""},
		{"szip", Relayout{Chunk: []int64{4, 4, 6}}, []int64{4, 4, 6}, "szip"},
		{"scaleoffset", Relayout{Chunk: []int64{2, 4, 6}}, []int64{2, 4, 6}, "scaleoffset"},
		{"contiguous", Relayout{Chunk: []int64{8, 4, 6}}, []int64{8, 4, 6}, ""},
		{"gzip", Relayout{}, nil, ""},
		{"types/compound", Relayout{Chunk: []int64{2}}, []int64{2}, ""},
		{"types/bool", Relayout{Unfiltered: true}, nil, ""},
		{"compact", Relayout{}, nil, ""},
	} {
		dst := filepath.Join(t.TempDir(), "copy.h5")
		items, n, err := Rewrite(src, ReaderOptions{Dataset: c.dataset}, dst, c.options)
		if err != nil {
			t.Errorf("%s %+v: %v", c.dataset, c.options, err)
			continue
		}
		info, err := os.Stat(dst)
		if err != nil || info.Size() != n {
			t.Errorf("%s: %d bytes were written, %v, %v", c.dataset, n, info, err)
		}
		count := c.options.Count
		if count == 0 {
			r := reader(t, src, ReaderOptions{Dataset: c.dataset})
			count = r.Shape()[0] - c.options.First
		}
		want, before := content(t, src, c.dataset, c.options.First, count)
		got, after := content(t, dst, c.dataset, 0, count)
		var filters []string
		for _, f := range after.Filters {
			filters = append(filters, f.Name.String())
		}
		if items != count || !bytes.Equal(got, want) || after.Type != before.Type || after.Shape[0] != count {
			t.Errorf("%s %+v: other data: %+v from %+v", c.dataset, c.options, after, before)
		}
		if !slices.Equal(after.Chunk, c.chunk) || strings.Join(filters, " ") != c.filters {
			t.Errorf("%s %+v: it has become %+v", c.dataset, c.options, after)
		}
	}
}

// What a Reader wrote and reads could be wrong twice; h5py reads it, too.
func TestRewriteForH5py(t *testing.T) {
	src, dst := filepath.Join(fixtures, "layouts.h5"), filepath.Join(t.TempDir(), "copy.h5")
	if _, _, err := Rewrite(src, ReaderOptions{Dataset: "/gzip_shuffle"}, dst, Relayout{Chunk: []int64{1, 4, 6},
		First: 3, Count: 20}); err != nil {
		t.Fatal(err)
	}
	script := `import sys, h5py
a, b = (h5py.File(p, "r")["gzip_shuffle"] for p in sys.argv[1:])
assert b.dtype == a.dtype and b.chunks == (1, 4, 6) and b.compression == "gzip" and b.compression_opts == a.compression_opts and b.shuffle, b
assert (a[3:23] == b[:]).all() and b.shape == (20, 4, 6), b`
	if out, err := exec.Command(must.Interpreter(), "-c", script, src, dst).CombinedOutput(); err != nil {
		t.Errorf("%v (apt install python3-h5py)\n%s", err, out)
	}
}

func TestRewriteRefuses(t *testing.T) {
	src := filepath.Join(fixtures, "layouts.h5")
	for name, c := range map[string]struct {
		dataset string
		options Relayout
		want    error // nil for any
	}{
		"a chunk of other axes":     {"gzip", Relayout{Chunk: []int64{1, 4}}, ErrRange},
		"a chunk of nothing":        {"gzip", Relayout{Chunk: []int64{1, 0, 4}}, ErrRange},
		"items beyond the end":      {"gzip", Relayout{Chunk: []int64{1, 4, 6}, First: 2000}, ErrRange},
		"items before the start":    {"gzip", Relayout{Chunk: []int64{1, 4, 6}, First: -1}, ErrRange},
		"a scalar":                  {"types/scalar", Relayout{}, ErrRange},
		"a dataset of no items":     {"types/length_zero", Relayout{Unfiltered: true}, ErrRange},
		"strings of varying length": {"types/str", Relayout{}, ErrPointers},
		"a filter that is missing":  {"lzf", Relayout{Unfiltered: true}, ErrFilter},
		// libhdf5 says so only when it makes the dataset
		"szip with too small a chunk": {"szip", Relayout{Chunk: []int64{1, 1, 1}}, nil},
	} {
		dst := filepath.Join(t.TempDir(), "copy.h5")
		if _, _, err := Rewrite(src, ReaderOptions{Dataset: c.dataset}, dst, c.options); err == nil || c.want != nil &&
			!errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(dst); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: something was left behind: %v", name, err)
		}
	}
	dst := filepath.Join(t.TempDir(), "copy.h5")
	must.Do(t, os.WriteFile(dst, []byte("mine"), 0o600))
	if _, _, err := Rewrite(src, ReaderOptions{Dataset: "contiguous"}, dst, Relayout{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("over a file that is there: %v", err)
	}
	if kept, err := os.ReadFile(dst); err != nil || string(kept) != "mine" {
		t.Errorf("the file that was there: %q, %v", kept, err)
	}
	if _, _, err := Rewrite(src, ReaderOptions{Dataset: "contiguous"}, filepath.Join(dst, "x.h5"),
		Relayout{}); err == nil {
		t.Error("into a folder that is none")
	}
}

func TestRewriteToAFullDisk(t *testing.T) {
	dst := filepath.Join(t.TempDir(), "copy.h5")
	for limit, full := range map[uint64]bool{1 << 20: false, 1000: true} {
		out, ok, _ := child(t, job{Path: filepath.Join(fixtures, "layouts.h5"), Datasets: []string{"contiguous"},
			Rewrite: dst, FileBytes: limit})
		if !ok || len(out) != 1 || (out[0].Error != "<nil>") != full || full && !strings.Contains(out[0].Error,
			"File too large") {
			t.Fatalf("with at most %d bytes in a file: %+v, alive %v", limit, out, ok)
		}
		if err := os.Remove(dst); errors.Is(err, os.ErrNotExist) != full {
			t.Errorf("with at most %d bytes in a file: %v", limit, err)
		}
	}
}

// What is copied at once touches no more chunks than libhdf5 may hold of them: of rows of 64 bytes, a slab of 16 MiB
// would be 262,144 chunks of one.
func TestRewriteStepOfSmallChunks(t *testing.T) {
	for _, c := range []struct {
		name          string
		shape, source []int64
		chunk         []int64
		item, want    int64
	}{
		{"a chunk for each row", []int64{10_000_000, 16}, []int64{4096, 16}, []int64{1, 16}, 64,
			mostSlabChunks / 4096 * 4096},
		{"small chunks are read", []int64{10_000_000, 16}, []int64{1, 4}, nil, 64, mostSlabChunks / 4},
		{"large ones", []int64{1000, 64, 64}, []int64{1, 64, 64}, []int64{64, 64, 64}, 16 << 10, 1024},
	} {
		r := &Reader{item: c.item, most: MaxReadBytes, dataset: Dataset{Shape: c.shape, Chunk: c.source}}
		if got := (Relayout{Chunk: c.chunk}).step(r); got != c.want {
			t.Errorf("%s: %d at once, want %d", c.name, got, c.want)
		}
	}
}
