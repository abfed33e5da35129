//go:build reliability

package reliability

import (
	"os"
	"path/filepath"

	"github.com/pipetune/pipetune/internal/must"
)

// seedScript writes small HDF5 files, one for each part of the format that libhdf5 decodes by code of its own.
const seedScript = `
import ctypes, os, sys, h5py, numpy as np
os.chdir(sys.argv[1])
rng = np.random.default_rng(3)
data = rng.integers(0, 64, (6, 8, 4)).astype("i4")

def file(name, fill, **how):
    with h5py.File(name + ".h5", "w", **how) as f:
        fill(f)

def chunked(**how):
    return lambda f: f.create_dataset("x", data=data, chunks=(2, 8, 4), **how)

def contiguous(f):
    d = f.create_dataset("x", data=data)
    d.attrs["classes"] = np.arange(5)
    d.attrs["unit"] = "K"

def vlen(f):
    d = f.create_dataset("x", (6,), dtype=h5py.vlen_dtype("i4"))
    for i in range(6):
        d[i] = np.arange(i + 1)
    f.create_dataset("names", data=["a", "bb", "ccc"], dtype=h5py.string_dtype())

def compound(f):
    t = np.dtype([("a", "f4"), ("b", "i2", (3,)), ("c", "S7")])
    f.create_dataset("x", data=np.zeros(9, t), chunks=(3,))

def compound_of_vlen(f):
    t = np.dtype([("a", "f4"), ("text", h5py.string_dtype())])
    f.create_dataset("x", data=np.array([(1, "one"), (2, "two")], t))

def references(f):
    g = f.create_group("g")
    x = g.create_dataset("x", data=data)
    f.create_dataset("objects", data=[x.ref, g.ref], dtype=h5py.ref_dtype)
    f.create_dataset("regions", data=[x.regionref[0:2]], dtype=h5py.regionref_dtype)
    x.attrs["self"] = x.ref

def virtual(f):
    v = h5py.VirtualLayout((6, 8, 4), "i4")
    for i in range(3):
        v[2 * i:2 * i + 2] = h5py.VirtualSource("part%d.h5" % i, "x", (2, 8, 4))
    f.create_virtual_dataset("x", v)
    f.create_dataset("own", data=data)

def links(f):
    f["out"] = h5py.ExternalLink("other.h5", "/x")
    f["soft"] = h5py.SoftLink("/g/x")
    f.create_group("g")["x"] = data

def external(f):
    f.create_dataset("x", (6, 8, 4), "i4", external=[("raw.bin", 0, h5py.h5f.UNLIMITED)])

def groups(f):
    for i in range(12):
        f.create_group("group%d" % i).create_dataset("x", data=data[:1])

def resizable(f):
    f.create_dataset("x", data=data, chunks=(1, 8, 4), maxshape=(None, 16, 4))

def enumeration(f):
    f.create_dataset("x", data=np.zeros((6, 4), "i1"), dtype=h5py.enum_dtype({"NO": 0, "YES": 1}, "i1"))

def compact(f):
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((6, 4))
    h5py.h5d.create(f.id, b"x", h5py.h5t.NATIVE_INT32, space, plist).write(space, space, np.ones((6, 4), "i4"))

file("contiguous", contiguous)
file("chunked", chunked())
file("gzip", chunked(compression="gzip"))
file("lzf", chunked(compression="lzf"))
file("shuffle", chunked(compression="gzip", shuffle=True))
file("fletcher32", chunked(fletcher32=True))
file("scaleoffset", chunked(scaleoffset=0))
file("vlen", vlen)
file("compound", compound)
file("compound-vlen", compound_of_vlen)
file("references", references)
file("virtual", virtual, libver="latest")
file("links", links)
file("external", external)
file("groups", groups)
file("resizable", resizable)
file("enumeration", enumeration)
file("compact", compact)
file("v2", chunked(compression="gzip"), libver=("v108", "v108"))
file("v3", chunked(compression="gzip"), libver=("v110", "v110"))
file("v3-resizable", resizable, libver="latest")
file("v3-groups", groups, libver="latest")
file("userblock", chunked(), userblock_size=512)

plist = h5py.h5p.create(h5py.h5p.FILE_CREATE)
# Another rank of chunk trees than the default is what makes a version 1 superblock; h5py has no call for it.
loaded = next(line.split()[-1] for line in open("/proc/self/maps") if "/libhdf5" in line and "_hl" not in line)
ctypes.CDLL(loaded).H5Pset_istore_k(ctypes.c_int64(plist.id), ctypes.c_uint(64))
h5py.h5f.create(b"v1.h5", fcpl=plist).close()
with h5py.File("v1.h5", "a") as f:
    chunked(compression="gzip")(f)
`

// superblocks is which version of the superblock some of the seeds have: byte 8 of the file (HDF5 File Format
// Specification, II.A).
var superblocks = map[string]byte{"gzip.h5": 0, "v1.h5": 1, "v2.h5": 2, "v3.h5": 3}

// seed is a whole file.
type seed struct {
	name string
	data []byte
}

// seeds makes the files.
func seeds(s *stand) []seed {
	s.Helper()
	dir := s.folder("seeds")
	must.Python(s, "-c", seedScript, dir)
	var all []seed
	for _, path := range must.Get(filepath.Glob(filepath.Join(dir, "*.h5")))(s) {
		data := must.Get(os.ReadFile(path))(s)
		name := filepath.Base(path)
		if want, told := superblocks[name]; told && data[8] != want {
			s.Fatalf("%s has a superblock of version %d, want %d", name, data[8], want)
		}
		all = append(all, seed{name, data})
	}
	if len(all) < 20 {
		s.Fatalf("%d seeds", len(all))
	}
	return all
}
