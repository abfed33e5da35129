package hdf5

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

const fixtures = "../../testdata/datasets"

func layout(t *testing.T, name string) File {
	t.Helper()
	return must.Get(Layout(filepath.Join(fixtures, name), DefaultLimits()))(t)
}

func dataset(t *testing.T, f File, path string) Dataset {
	t.Helper()
	for _, d := range f.Datasets {
		if d.Path.String() == path {
			return d
		}
	}
	t.Fatalf("no dataset %s among %v", path, f.Datasets)
	return Dataset{}
}

// answer is what h5py says of a dataset; see make_datasets.py.
type answer struct {
	Shape   []int64 `json:"shape"`
	Layout  Storage `json:"layout"`
	Chunk   []int64 `json:"chunk"`
	Filters []int   `json:"filters"`
	Stored  *int64  `json:"stored"`
	Element int64   `json:"element"`
}

func TestLayoutAgreesWithH5py(t *testing.T) {
	raw := must.Get(os.ReadFile(filepath.Join(fixtures, "hdf5.json")))(t)
	var files map[string]map[string]answer
	must.Do(t, json.Unmarshal(raw, &files))
	if len(files) < 6 {
		t.Fatalf("only %d files described by h5py", len(files))
	}
	for name, want := range files {
		t.Run(name, func(t *testing.T) {
			limits := DefaultLimits()
			limits.Depth = 32
			f := must.Get(Layout(filepath.Join(fixtures, name), limits))(t)
			got := map[string]answer{}
			for _, d := range f.Datasets {
				a := answer{Shape: d.Shape, Layout: d.Storage, Chunk: d.Chunk, Filters: []int{}, Stored: d.StoredBytes,
					Element: d.ElementBytes}
				for _, filter := range d.Filters {
					a.Filters = append(a.Filters, filter.ID)
				}
				a.Shape, a.Chunk = append([]int64{}, a.Shape...), append([]int64{}, a.Chunk...)
				got[d.Path.String()] = a
				if d.Problem.String() != "" {
					t.Errorf("%s: %s", d.Path, d.Problem)
				}
			}
			delete(got, "/again") // the same dataset as /here; whichever comes first by name is kept
			if a, ok := want["/again"]; ok {
				want["/here"] = a
				delete(want, "/again")
				got["/here"] = a
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("h5py says (-), Layout says (+):\n%s", diff)
			}
		})
	}
}

func TestLayoutNamesTypesAndFilters(t *testing.T) {
	for _, name := range []string{"layouts.h5", "layouts_v110.h5"} {
		f := layout(t, name)
		types := map[string]string{}
		for _, d := range f.Datasets {
			types[d.Path.String()] = d.Type
		}
		for path, want := range map[string]string{
			"/contiguous": "uint8", "/gzip_shuffle": ">float32", "/szip": "int16", "/types/bool": "enum (2 values)",
			"/types/str": "str", "/types/bytes": "str (2 bytes)", "/types/compound": "compound (2 fields)",
			"/types/jpeg": "variable-length sequence", "/types/float16": "float16",
			"/types/complex": "compound (2 fields)", "/types/scalar": "float64",
		} {
			if types[path] != want {
				t.Errorf("%s: %s is %q, want %q", name, path, types[path], want)
			}
		}
		gzip := dataset(t, f, "/gzip").Filters
		if len(gzip) != 1 || gzip[0].Name.String() != "gzip" || !gzip[0].Available ||
			!slices.Equal(gzip[0].Values, []uint32{4}) {
			t.Errorf("%s: /gzip has the filters %+v, want gzip at level 4", name, gzip)
		}
		if lzf := dataset(t, f, "/lzf").Filters; lzf[0].Name.String() != "lzf" || lzf[0].Available {
			t.Errorf("%s: /lzf has the filters %+v, want lzf, which libhdf5 alone cannot decode", name, lzf)
		}
	}
}

func TestLayoutSizes(t *testing.T) {
	f := layout(t, "layouts.h5")
	many := dataset(t, f, "/chunk_many")
	if many.ItemBytes == nil || *many.ItemBytes != 24 || many.ChunkBytes == nil || *many.ChunkBytes != 8*24 {
		t.Errorf("/chunk_many: %+v, want items of 24 and chunks of 192 bytes", many)
	}
	if d := dataset(t, f, "/unallocated"); d.StoredBytes == nil || *d.StoredBytes != 0 {
		t.Errorf("/unallocated occupies %v, want a known 0", d.StoredBytes)
	}
	if d := dataset(t, f, "/types/jpeg"); d.ItemBytes != nil {
		t.Errorf("/types/jpeg: an item of %d bytes, want none: its items differ in length", *d.ItemBytes)
	}
	if d := dataset(t, f, "/types/scalar"); d.ItemBytes != nil {
		t.Errorf("/types/scalar: an item of %d bytes, want none: it has no axis", *d.ItemBytes)
	}
	limits := DefaultLimits()
	limits.Chunks = 2
	f = must.Get(Layout(filepath.Join(fixtures, "layouts.h5"), limits))(t)
	if d := dataset(t, f, "/chunk_many"); d.StoredBytes != nil {
		t.Errorf("three chunks counted where two were allowed: %d", *d.StoredBytes)
	}
}

// Whatever a file names outside of itself is a FIFO here: following any of the names would hang this test.
func TestLayoutFollowsNothing(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"pipetune-fifo.h5", "pipetune-fifo-2.h5", "pipetune-fifo.raw"} {
		must.Do(t, unix.Mkfifo(filepath.Join(dir, name), 0o600))
	}
	from := must.Get(filepath.Abs(fixtures))(t)
	t.Chdir(dir)
	for _, name := range []string{"outside.h5", "growing.h5"} {
		raw := must.Get(os.ReadFile(filepath.Join(from, name)))(t)
		must.Do(t, os.WriteFile(name, raw, 0o600))
	}
	f := must.Get(Layout("outside.h5", DefaultLimits()))(t)
	var links []string
	for _, l := range f.Links {
		links = append(links, strings.Join([]string{l.Path.String(), string(l.Kind), l.File.String(),
			l.Target.String()}, " "))
	}
	want := []string{"/dangling soft  /nowhere", "/external external pipetune-fifo.h5 /x", "/soft soft  /here"}
	if diff := cmp.Diff(want, links); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	raw, virtual := dataset(t, f, "/raw"), dataset(t, f, "/virtual")
	if raw.Storage != External || raw.Sources != 1 || raw.Outside[0].File.String() != "pipetune-fifo.raw" ||
		raw.StoredBytes != nil {
		t.Errorf("/raw: %+v", raw)
	}
	if virtual.Storage != Virtual || virtual.Sources != 2 || virtual.Outside[1].Dataset.String() != "y" ||
		!slices.Equal(virtual.Shape, []int64{2, 4}) {
		t.Errorf("/virtual: %+v", virtual)
	}
	f = must.Get(Layout("growing.h5", DefaultLimits()))(t)
	if d := dataset(t, f, "/growing"); d.Storage != Virtual || d.Sources != 1 {
		t.Errorf("/growing: %+v", d)
	}
}

// A description comes out of a child process, and a path need not be valid UTF-8.
func TestLayoutInJSON(t *testing.T) {
	for _, name := range []string{"layouts.h5", "outside.h5"} { // the latter with links, and files outside
		path := filepath.Join(t.TempDir(), "na\xffme.h5")
		must.Do(t, os.WriteFile(path, must.Get(os.ReadFile(filepath.Join(fixtures, name)))(t), 0o600))
		var got File
		must.Do(t, json.Unmarshal(must.Get(json.Marshal(must.Get(Layout(path, DefaultLimits()))(t)))(t), &got))
		if diff := cmp.Diff(layout(t, name), got); diff != "" {
			t.Errorf("%s through JSON (+):\n%s", name, diff)
		}
	}
}

func TestLayoutKeepsItsLimits(t *testing.T) {
	path := filepath.Join(fixtures, "many.h5")
	limits := Limits{Datasets: 10, Groups: 4, Links: 30, Depth: 2, NameBytes: 255, Chunks: 10, Outside: 1}
	f, err := Layout(path, limits)
	if err != nil {
		t.Fatal(err)
	}
	// 41 links in the root: 30 are looked at, 10 described, so that 20 and the other 11 are passed over.
	if len(f.Datasets) != 10 || f.Passed.Links < 20 {
		t.Errorf("%d datasets, %+v", len(f.Datasets), f.Passed)
	}
	limits.NameBytes = 5
	if f, err = Layout(path, limits); err != nil || len(f.Datasets) != 0 || f.Passed.Names != 40 {
		t.Errorf("with names of 5 bytes: %d datasets, %+v, %v", len(f.Datasets), f.Passed, err)
	}
	limits.NameBytes, limits.Datasets, limits.Links = 255, 100, 100
	if f, err = Layout(path, limits); err != nil || f.Passed.Groups != 1 || len(f.Datasets) != 40 {
		t.Errorf("with a depth of 2: %d datasets, %+v, %v", len(f.Datasets), f.Passed, err)
	}
}

func TestLayoutNamesAnUnknownFilter(t *testing.T) {
	d := dataset(t, layout(t, "unknown_filter.h5"), "/x")
	if len(d.Filters) != 1 || d.Filters[0].ID != 31999 || d.Filters[0].Available || len(d.Filters[0].Values) != 2 {
		t.Errorf("%+v", d.Filters)
	}
}

func TestLayoutRefuses(t *testing.T) {
	raw := must.Get(os.ReadFile(filepath.Join(fixtures, "layouts_v110.h5")))(t)
	change := func(at int, to byte) []byte {
		out := slices.Clone(raw)
		out[at] = to
		return out
	}
	for name, c := range map[string]struct {
		content []byte
		want    error
	}{
		"empty":              {nil, ErrNotHDF5},
		"text":               {[]byte(strings.Repeat("not a file of data\n", 100)), ErrNotHDF5},
		"cut in half":        {raw[:len(raw)/2], ErrTruncated},
		"cut in superblock":  {raw[:10], ErrTruncated},
		"one byte short":     {raw[:len(raw)-1], ErrTruncated},
		"newer superblock":   {change(8, 4), ErrNewer},
		"open for writing":   {change(11, 1), ErrBeingWritten},
		"checksum is broken": {change(20, 7), ErrUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.h5")
			must.Do(t, os.WriteFile(path, c.content, 0o600))
			f, err := Layout(path, DefaultLimits())
			if !errors.Is(err, c.want) {
				t.Errorf("%v, %+v; want %v", err, f, c.want)
			}
			if c.want == ErrUnreadable && !strings.Contains(err.Error(), "checksum") { // libhdf5's own word
				t.Errorf("%v: it does not say why", err)
			}
		})
	}
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo.h5")
	must.Do(t, unix.Mkfifo(fifo, 0o600))
	for _, path := range []string{dir, fifo, "/dev/zero"} {
		if _, err := Layout(path, DefaultLimits()); !errors.Is(err, ErrNotHDF5) {
			t.Errorf("%s: %v, want %v", path, err, ErrNotHDF5)
		}
	}
	if _, err := Layout(filepath.Join(dir, "absent.h5"), DefaultLimits()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
}

// A message of a version this libhdf5 does not know spoils one dataset, not the file. In the version 0 format the
// headers carry no checksum, so that a version can be changed in place: here that of each data layout message.
func TestLayoutNewerDataset(t *testing.T) {
	raw := must.Get(os.ReadFile(filepath.Join(fixtures, "userblock.h5")))(t)
	// A version 1 header message: type 8 (data layout), size 24, flags 1 and three zeros; then version 3, class 1.
	message := []byte{8, 0, 24, 0, 0, 0, 0, 0, 3, 1}
	message2 := []byte{8, 0, 24, 0, 1, 0, 0, 0, 3, 1}
	changed := strings.Replace(string(raw), string(message), string([]byte{8, 0, 24, 0, 0, 0, 0, 0, 5, 1}), -1)
	changed = strings.Replace(changed, string(message2), string([]byte{8, 0, 24, 0, 1, 0, 0, 0, 5, 1}), -1)
	if changed == string(raw) {
		t.Fatal("no layout message found to change")
	}
	path := filepath.Join(t.TempDir(), "x.h5")
	must.Do(t, os.WriteFile(path, []byte(changed), 0o600))
	f := must.Get(Layout(path, DefaultLimits()))(t)
	if len(f.Problems) != 1 || f.Problems[0].Path.String() != "/x" || !strings.Contains(f.Problems[0].Reason.String(),
		ErrNewer.Error()) {
		t.Errorf("%+v: want one problem with a version", f.Problems)
	}
}

// HDF5 2.2 wrote this file with libver v200. libhdf5 1.10, like h5py on it, reads the plain and the chunked datasets,
// and not those for which version 2 brought a new form: compressed chunks (layout message 5) and complex numbers.
func TestLayoutOfANewerWriter(t *testing.T) {
	f := layout(t, "written_by_2.2.h5")
	if d := dataset(t, f, "/chunk"); d.Storage != Chunked || !slices.Equal(d.Chunk, []int64{8, 4, 6}) {
		t.Errorf("/chunk: %+v", d)
	}
	if read := len(f.Datasets) + len(f.Problems); read != 5 {
		t.Errorf("%d datasets and %d problems, want 5 in all", len(f.Datasets), len(f.Problems))
	}
	for _, p := range f.Problems {
		if !slices.Contains([]string{"/bf", "/gz"}, p.Path.String()) || !strings.Contains(p.Reason.String(),
			ErrNewer.Error()) {
			t.Errorf("%s: %s", p.Path, p.Reason)
		}
	}
}

func TestProduct(t *testing.T) {
	for _, c := range []struct {
		element int64
		dims    []int64
		want    *int64
	}{
		{4, nil, new(int64(4))},
		{4, []int64{3, 5}, new(int64(60))},
		{4, []int64{0, math.MaxInt64}, new(int64(0))},
		{2, []int64{math.MaxInt64}, nil},
		{1, []int64{1 << 40, 1 << 40}, nil},
	} {
		if diff := cmp.Diff(c.want, Product(c.element, c.dims)); diff != "" {
			t.Errorf("%d × %v: %s", c.element, c.dims, diff)
		}
	}
}

func TestTouched(t *testing.T) {
	for _, c := range []struct {
		chunk, start, count []int64
		want                int64
	}{
		{[]int64{8, 4, 6}, []int64{0, 0, 0}, []int64{24, 4, 6}, 3},
		{[]int64{8, 3, 6}, []int64{0, 0, 0}, []int64{25, 4, 6}, 8},
		{[]int64{8, 3, 6}, []int64{7, 2, 0}, []int64{2, 2, 6}, 4},
		{[]int64{4, 3}, []int64{0, 0}, []int64{0, 3}, 0},
		{[]int64{0}, []int64{0}, []int64{4}, MaxHeldBytes},
		{[]int64{1, 1}, []int64{0}, []int64{4}, MaxHeldBytes},
		{[]int64{1}, []int64{0}, []int64{math.MaxInt64}, MaxHeldBytes},
		{nil, []int64{0}, []int64{4}, 0},
	} {
		if got := touched(c.chunk, c.start, c.count); got != c.want {
			t.Errorf("%v from %v on by %v: %d chunks, want %d", c.count, c.start, c.chunk, got, c.want)
		}
	}
}
