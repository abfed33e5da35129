package hdf5

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

func reader(t *testing.T, path string, o ReaderOptions) *Reader {
	t.Helper()
	r := must.Get(OpenReader(path, o))(t)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Without leave, every name that leads out of the file is an error that says so. With it, the data is what h5py reads;
// a FIFO is refused either way, or this test would hang.
func outside(t *testing.T, folder string, want map[string]expected) {
	t.Chdir(folder) // h5py finds external storage in the working folder
	path := filepath.Join(folder, "outside.h5")
	if len(want) != 6 {
		t.Fatalf("%d datasets outside", len(want))
	}
	for name, names := range map[string]string{
		"link": "other.h5", "soft_there": "other.h5", "group/x": "other.h5", "there_and_back": "other.h5",
		"raw": "first.raw and 1 more", "virtual": "other.h5 and 2 more", "never/link": "fifo.h5",
		"never/raw": "fifo.h5", "never/virtual": "fifo.h5",
	} {
		if _, err := OpenReader(path, ReaderOptions{Dataset: name}); !errors.Is(err, ErrOutside) ||
			!strings.Contains(err.Error(), names) {
			t.Errorf("%s: %v, want a refusal that names %s", name, err, names)
		}
		if !strings.HasPrefix(name, "never/") {
			continue
		}
		if _, err := OpenReader(path, ReaderOptions{Dataset: name, Follow: true}); !errors.Is(err, ErrNotHDF5) &&
			!errors.Is(err, ErrOutside) {
			t.Errorf("%s leads to a FIFO: %v", name, err)
		}
	}
	for name, cause := range map[string]error{"never/missing": ErrOutside, "never/circle": ErrNoDataset} {
		if _, err := OpenReader(path, ReaderOptions{Dataset: name, Follow: true}); !errors.Is(err, cause) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, from := range []string{folder, t.TempDir()} { // the files are found beside the one that names them, too
		t.Chdir(from)
		for name, want := range want {
			r, err := OpenReader(path, ReaderOptions{Dataset: name, Follow: true})
			if err != nil {
				t.Errorf("from %s: %v", from, err)
				continue
			}
			var n counts
			n.compare(t, name, r, want)
			if err := r.Close(); err != nil || n.items == 0 {
				t.Errorf("%s: %d items were compared, %v", name, n.items, err)
			}
		}
	}
}

// A header may promise anything: what it says is held against the file before memory is taken.
func large(t *testing.T, folder string) {
	path := filepath.Join(folder, "large.h5")
	for _, name := range []string{"item", "item_of_terabytes"} {
		r := reader(t, path, ReaderOptions{Dataset: name})
		if _, err := r.Item(0, nil); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := r.Items([]int64{0}, nil); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := r.Block([]int64{9, 1 << 26}, []int64{1, 7}, nil); err != nil || len(got) != 7 {
			t.Errorf("%s: a small block of a large item: %v, %v", name, got, err)
		}
	}
	if _, err := OpenReader(path, ReaderOptions{Dataset: "chunk"}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a chunk of 1 GiB: %v", err)
	}
	r := reader(t, path, ReaderOptions{Dataset: "long"})
	if got, err := r.Item(1<<62-1, nil); err != nil || len(got) != 1 {
		t.Errorf("the last of 2^62: %v, %v", got, err)
	}
	if _, err := r.Block([]int64{1}, []int64{1<<62 - 1}, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("nearly all of 2^62: %v", err)
	}
	if _, _, _, err := r.RawBlock([]int64{0}, []int64{1 << 62}, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("the chunks of 2^62 bytes: %v", err)
	}
	r = reader(t, path, ReaderOptions{Dataset: "long_gzip"})
	if got, err := r.Item(1<<49, nil); err != nil || got[15] != 3 {
		t.Errorf("an item of a dataset of 2^54 bytes: %v, %v", got, err)
	}
}

// descriptors counts this process's open files.
func descriptors(t *testing.T) int {
	t.Helper()
	entries := must.Get(os.ReadDir("/proc/self/fd"))(t)
	return len(entries)
}

func reopen(t *testing.T, path string) {
	small := int64(64 << 10)
	once := func(o ReaderOptions) {
		r := must.Get(OpenReader(path, o))(t)
		must.Get(r.Item(3, nil))(t)
		must.Do(t, errors.Join(r.Close(), r.Close()))
		if _, err := r.Item(3, nil); !errors.Is(err, errClosed) {
			t.Fatalf("a closed reader: %v", err)
		}
	}
	once(ReaderOptions{Dataset: "<f4/item/gzip"})
	before, held := descriptors(t), openObjects()
	for i := range 2000 {
		o := ReaderOptions{Dataset: "<f4/item/gzip"}
		if i%2 == 0 {
			o.ChunkCacheBytes = &small
		}
		once(o)
		if _, err := OpenReader(path, ReaderOptions{Dataset: []string{"refused/lzf", "refused/circle", "nowhere",
			"<f4"}[i%4]}); err == nil {
			t.Fatal("opened what is to be refused")
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d files are open after 2000 opens, %d were before", after, before)
	}
	if left := openObjects(); left != held {
		t.Errorf("libhdf5 holds %d objects, %d before", left, held)
	}
}

// locks tells a lock by what it does: a writer of the same file cannot have it.
func locks(t *testing.T, path string) {
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	for _, locked := range []bool{false, true, false} {
		r := must.Get(OpenReader(path, ReaderOptions{Dataset: "<f4/contiguous/none", Locked: locked}))(t)
		got := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if (got == unix.EWOULDBLOCK) != locked || got != nil && !locked {
			t.Errorf("locked %v: a writer's lock gives %v", locked, got)
		}
		must.Do(t, errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), r.Close()))
	}
}

func TestReaderNamesAMissingFilter(t *testing.T) {
	for file, want := range map[string]string{"layouts.h5 /lzf": "lzf (number 32000)",
		"unknown_filter.h5 /x": "(number 31999)"} {
		file, name, _ := strings.Cut(file, " ")
		_, err := OpenReader(filepath.Join(fixtures, file), ReaderOptions{Dataset: name})
		if !errors.Is(err, ErrFilter) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want one that names %s", file, err, want)
		}
	}
}

func TestReaderRefusesWhatIsNotThere(t *testing.T) {
	path := filepath.Join(fixtures, "layouts.h5")
	r := reader(t, path, ReaderOptions{Dataset: "chunk_many"}) // 24 items of 4 x 6
	for _, index := range []int64{-1, 24, 1 << 62} {
		if _, err := r.Item(index, nil); !errors.Is(err, ErrRange) {
			t.Errorf("item %d: %v", index, err)
		}
		if _, err := r.Items([]int64{0, index}, nil); !errors.Is(err, ErrRange) {
			t.Errorf("items 0 and %d: %v", index, err)
		}
		if _, err := r.RawChunk([]int64{index, 0, 0}, nil); !errors.Is(err, ErrRange) {
			t.Errorf("the chunk of item %d: %v", index, err)
		}
	}
	for _, b := range [][2][]int64{
		{{0}, {1}}, {{0, 0, 0}, {25, 1, 1}}, {{24, 0, 0}, {1, 1, 1}}, {{0, 0, -1}, {1, 1, 1}}, {{0, 0, 0}, {1, 1, -1}},
		{{1, 0, 0}, {1<<63 - 1, 1, 1}},
	} {
		if _, err := r.Block(b[0], b[1], nil); !errors.Is(err, ErrRange) {
			t.Errorf("block %v: %v", b, err)
		}
	}
	if _, err := reader(t, path, ReaderOptions{Dataset: "contiguous"}).RawChunk([]int64{0, 0, 0},
		nil); !errors.Is(err, ErrNoChunk) {
		t.Errorf("a chunk of contiguous data: %v", err)
	}
	if _, err := reader(t, path, ReaderOptions{Dataset: "types/empty"}).Block(nil, nil, nil); !errors.Is(err,
		ErrRange) {
		t.Errorf("a dataset without elements: %v", err)
	}
	if _, err := reader(t, path, ReaderOptions{Dataset: "types/scalar"}).Item(0, nil); !errors.Is(err, ErrRange) {
		t.Errorf("an item of a scalar: %v", err)
	}
	for name, want := range map[string]error{"": ErrNoDataset, "/": ErrNoDataset, "types": ErrNoDataset,
		"x": ErrNoDataset, "types/str": ErrPointers, strings.Repeat("a/", 300): ErrNoDataset} {
		if _, err := OpenReader(path, ReaderOptions{Dataset: name}); !errors.Is(err, want) {
			t.Errorf("%.20q: %v, want %v", name, err, want)
		}
	}
	fifo := filepath.Join(t.TempDir(), "fifo.h5")
	must.Do(t, unix.Mkfifo(fifo, 0o600))
	for path, want := range map[string]error{fifo: ErrNotHDF5, "/dev/zero": ErrNotHDF5, fixtures: ErrNotHDF5,
		"reader.go": ErrNotHDF5, fifo + "x": os.ErrNotExist} {
		if _, err := OpenReader(path, ReaderOptions{Dataset: "x"}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

func TestReaderUsesTheBufferItIsGiven(t *testing.T) {
	r := reader(t, filepath.Join(fixtures, "layouts.h5"), ReaderOptions{Dataset: "contiguous"})
	raw := must.Get(os.ReadFile(filepath.Join(fixtures, "layouts.h5")))(t)
	if r.ItemBytes() != 24 || !slices.Equal(r.Shape(), []int64{24, 4, 6}) {
		t.Fatalf("items of %d bytes, shape %v", r.ItemBytes(), r.Shape())
	}
	buf := make([]byte, 100)
	got, err := r.Item(5, buf)
	if err != nil || &got[0] != &buf[0] || len(got) != 24 || !bytes.Contains(raw, got) {
		t.Errorf("%v, %v", got, err)
	}
	if n := testing.AllocsPerRun(100, func() { got, err = r.Item(6, buf) }); n != 0 || err != nil {
		t.Errorf("%v allocations for each item, %v", n, err)
	}
}

func TestSlotsAreAPrime(t *testing.T) {
	for _, c := range []struct{ cache, chunk, want int64 }{{1 << 20, 1 << 21, 521}, {64 << 20, 1 << 20, 6421},
		{0, 100, 521}, {1 << 40, 1, 1<<20 + 7}, {1 << 20, 0, 521}} {
		if got := slots(c.cache, &c.chunk); got != c.want {
			t.Errorf("a cache of %d for chunks of %d: %d slots, want %d", c.cache, c.chunk, got, c.want)
		}
	}
}
