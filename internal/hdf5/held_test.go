package hdf5

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// heavyScript writes files that declare much and hold next to nothing: all is zeros that compress, or was never
// written.
const heavyScript = `
import sys, os, h5py, numpy
M = 1 << 20
os.chdir(sys.argv[1])

def file(name, shape, chunk, write, dtype="u1", **how):
    with h5py.File(name + ".h5", "w") as f:
        d = f.create_dataset("x", shape, dtype, chunks=chunk, **how)
        if write:
            d.id.write_direct_chunk((0,) * len(shape), write, 0)
    os.truncate(name + ".h5", 4 * M)  # a hole: a file of that size could hold as much, compressed

import zlib
def zeros(n):  # what gzip makes of them, without the memory
    c = zlib.compressobj(1)
    return b"".join([c.compress(bytes(M)) for _ in range(n // M)] + [c.flush()])

gzip = dict(compression="gzip")
file("fits", (2, 256 * M), (1, 256 * M), zeros(256 * M), **gzip)                 # 256 MiB, with 256 and less than 1 beside
file("fits_shuffled", (2, 48 * M), (1, 48 * M), zeros(192 * M), "u4", shuffle=True, **gzip)  # 192 MiB, with twice 192 beside
# 450 MiB for an item of 150. Doubled from 3.5 MiB on, the buffer would have 448 MiB and then 896, for which there is no room.
file("fits_once", (6, 150 * M), (3, 150 * M), zeros(450 * M).ljust(M * 7 // 2, b"."), **gzip)
file("item_and_chunk", (2, 700 * M), (1, 400 * M), b"any", **gzip)               # 700 MiB, with 400 beside: each is within bounds
file("two_copies", (2, 400 * M), (1, 400 * M), b"any", shuffle=True, **gzip)
file("chunk_too_large", (1024, M), (1024, M), b"any", **gzip)
file("many_chunks", (2, 200000, 64), (1, 1, 64), bytes(64))                       # 1.3 GiB for the list of chunks
file("some_chunks", (2, 20000, 64), (1, 1, 64), bytes(64))

# A file of more than 2 GiB that takes no room on the disk: contiguous, never written but its last byte.
with h5py.File("sparse.h5", "w") as f:
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    for name, mib in ((b"large", 700), (b"largest", 768), (b"too_large", 1023)):
        h5py.h5d.create(f.id, name, h5py.h5t.NATIVE_UINT8, h5py.h5s.create_simple((1, mib * M)), plist)
`

// What one read delivers and what libhdf5 holds meanwhile are bounded together, and refused by what the header says
// before any of it is taken. The children's memory shows that the reckoning is what libhdf5 does.
func TestHeldTogether(t *testing.T) {
	folder := t.TempDir()
	must.Python(t, "-c", heavyScript, folder)
	const mib = 1 << 20
	for _, c := range []struct {
		file, dataset string
		refused       string // words of the reason; "" where the item is read
		least, most   int64  // MiB that the child holds at once
	}{
		{"fits", "x", "", 2 * 256, 2*256 + 40},
		{"fits_shuffled", "x", "", 2 * 192, 3*192 + 40},
		{"fits_once", "x", "", 590, 600 + 40},
		{"item_and_chunk", "x", "734003200 bytes, beside 423624704 of a chunk while it is decoded (4194304 stored, " +
			"419430400 decoded)", 0, 60},
		{"two_copies", "x", "838860800 of a chunk while it is decoded (419430400 stored, 419430400 decoded)", 0, 60},
		{"chunk_too_large", "x", "has 1073741824 bytes; chunks of at most 536870912 are read", 0, 60},
		{"many_chunks", "x", "7168 for each of the 200000 chunks it lies in", 0, 60},
		{"some_chunks", "x", "", 60, 20000*selectedBytes/mib + 40},
		{"sparse", "large", "", 650, 760},
		{"sparse", "largest", "", 740, 820},
		{"sparse", "too_large", "1072693248 bytes", 0, 60},
	} {
		out, ok, memory := child(t, job{Path: filepath.Join(folder, c.file+".h5"), Datasets: []string{c.dataset},
			Most: 1, Only: true, Mapped: mappedInTests})
		switch {
		case !ok || len(out) != 1:
			t.Errorf("%s %s: the child died", c.file, c.dataset)
			continue
		case (c.refused == "") != (out[0].Error == "") || !strings.Contains(out[0].Error, c.refused):
			t.Errorf("%s %s: %+v, want a reason with %q", c.file, c.dataset, out[0], c.refused)
		}
		if memory > c.most*mib || memory < c.least*mib {
			t.Errorf("%s %s: the child held %d MiB, want %d to %d", c.file, c.dataset, memory/mib, c.least, c.most)
		}
		t.Logf("%s %s: %d MiB, %s", c.file, c.dataset, memory/mib, out[0].Error)
	}
	// A batch is bounded in all as an item is.
	r := reader(t, filepath.Join(folder, "fits.h5"), ReaderOptions{Dataset: "x"})
	if _, err := r.Items([]int64{1, 0}, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("two items of 256 MiB, read into one place and sorted into another: %v", err)
	}
}
