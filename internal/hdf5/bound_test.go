package hdf5

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// boundScript writes chunks that decode to other sizes than their headers say.
const boundScript = `
import ctypes, h5py, numpy, os, struct, sys, zlib
M = 1 << 20
os.chdir(sys.argv[1])

def zeros(n):
    c = zlib.compressobj(1)
    return b"".join([c.compress(bytes(M)) for _ in range(n // M)] + [c.compress(bytes(n % M)), c.flush()])

def file(name, chunk, raw, items=16, **how):
    with h5py.File(name + ".h5", "w") as f:
        d = f.create_dataset("x", (items, chunk), "u1", chunks=(1, chunk), **how)
        d.id.write_direct_chunk((0, 0), raw, 0)
        return d.id.get_create_plist().get_filter(0)[2]

gzip = dict(compression="gzip")
file("inflates_1000_times", M, zeros(1024 * M), **gzip)
file("inflates_as_bound", M, zeros(M + M // 16 + 1024), **gzip)
file("inflates_a_byte_more", M, zeros(M + M // 16 + 1025), **gzip)
file("cut", M, zeros(M)[:-5], **gzip)

szip = dict(compression="szip")
file("szip_says_1_GiB", M, struct.pack("<I", 1024 * M) + bytes(1000), **szip)
file("szip_3_bytes", M, bytes(3), **szip)

# The length of a line as it stands in the file is replaced: libaec would pad each line to whole blocks, or make room for the whole of it.
for name, line in ("szip_short_lines", 1), ("szip_long_lines", 1 << 30):
    values = file(name, M, struct.pack("<I", M) + bytes(1000), **szip)
    with open(name + ".h5", "r+b") as f:
        data = f.read()
        old, new = struct.pack("<4I", *values), struct.pack("<4I", *values[:3], line)
        assert data.count(old) == 1
        f.seek(data.index(old))
        f.write(new)

# Names of a group in a compressed heap: filters are run where no dataset is being read.
lib = ctypes.CDLL("libhdf5_serial.so.103")
lib.H5Pset_deflate.argtypes = [ctypes.c_int64, ctypes.c_uint]
with h5py.File("heap.h5", "w", libver="latest") as f:
    plist = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
    assert lib.H5Pset_deflate(plist.id, 6) >= 0
    g = h5py.Group(h5py.h5g.create(f.id, b"g", gcpl=plist))
    for i in range(1000):
        g["%d" % i + "n" * 100] = h5py.SoftLink("/x")
    g["x"] = numpy.arange(16 * 16).reshape(16, 16)
`

// A filter makes no more of a chunk than the header says the chunk has, whatever the data asks for.
func TestFiltersAreBounded(t *testing.T) {
	folder := t.TempDir()
	must.Python(t, "-c", boundScript, folder)
	for _, c := range []struct{ file, dataset, refused string }{
		{"inflates_1000_times", "x", "a chunk inflates to more than its size"},
		{"inflates_as_bound", "x", ""},
		{"inflates_a_byte_more", "x", "a chunk inflates to more than its size"},
		{"cut", "x", "inflate() failed"},
		{"szip_says_1_GiB", "x", "a chunk says it is more than its size"},
		{"szip_3_bytes", "x", "a chunk that szip did not write"},
		{"szip_short_lines", "x", "parameters that szip does not have"},
		{"szip_long_lines", "x", "parameters that szip does not have"},
		{"heap", "g/x", ""},
	} {
		out, ok, memory := child(t, job{Path: filepath.Join(folder, c.file+".h5"), Datasets: []string{c.dataset},
			Most: 1, Only: true})
		if !ok || len(out) != 1 || (c.refused == "") != (out[0].Error == "") || !strings.Contains(out[0].Error,
			c.refused) {
			t.Errorf("%s: %+v, alive %v, want a reason with %q", c.file, out, ok, c.refused)
		}
		if memory > 40<<20 {
			t.Errorf("%s: the child held %d MiB for a chunk of 1 MiB", c.file, memory>>20)
		}
		t.Logf("%s: %d MiB, %+v", c.file, memory>>20, out)
	}
	f, err := Layout(filepath.Join(folder, "heap.h5"), DefaultLimits())
	if err != nil || len(f.Datasets) != 1 || len(f.Problems) != 0 {
		t.Errorf("a group whose names lie in a compressed heap: %v, %d datasets, %v", err, len(f.Datasets), f.Problems)
	}
}

// The bound leaves room for what 32 filters can add to a chunk of any size when they find nothing to compress.
func TestTheBoundLeavesRoomForFilters(t *testing.T) {
	for _, chunk := range []int64{1, 100, 4096, 1 << 20, MaxChunkBytes} {
		size := chunk
		for range maxFilters {
			size += max(size/1000+1+12, 22)
		}
		if most := decodedMost(&chunk); size > most {
			t.Errorf("a chunk of %d bytes: %d after %d filters, and %d are allowed", chunk, size, maxFilters, most)
		}
	}
	if one := decodedMost(nil); one <= MaxChunkBytes {
		t.Error(fmt.Sprint("chunks of others: ", one))
	}
}
