"""Writes the small HDF5 and NumPy files of this folder, each named after what it shows.

    /usr/bin/python3 make_datasets.py [FOLDER]

and, in hdf5.json, what h5py itself says of each dataset: the other opinion that the Go tests compare with.
They are kept in the repository, because a file written by another version of h5py would differ in its bytes.
Written with h5py 3.7 and HDF5 1.10.8 of Debian 12; but written_by_2.2.h5, with datasets plain, chunk, gz, bf
(complex64) and g/y, by h5py 3.16 and HDF5 2.2.0 of Debian sid, with libver=("v200", "v200").
"""
import json
import os
import sys

import h5py
import numpy as np

out = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
os.chdir(out)
rng = np.random.default_rng(7)
images = rng.integers(0, 16, (24, 4, 6), dtype=np.uint8)  # few values, so that it compresses

# One dataset per layout and filter, in one file per group of formats: "earliest" has a version 0 superblock.
for name, libver in (("layouts.h5", ("earliest", "v110")), ("layouts_v110.h5", ("v110", "v110"))):
    with h5py.File(name, "w", libver=libver) as f:
        f.create_dataset("contiguous", data=images)
        f.create_dataset("chunk_item", data=images, chunks=(1, 4, 6))
        f.create_dataset("chunk_many", data=images, chunks=(8, 4, 6))
        f.create_dataset("chunk_across", data=images, chunks=(24, 2, 3))
        f.create_dataset("gzip", data=images, chunks=(8, 4, 6), compression="gzip", compression_opts=4)
        f.create_dataset("gzip_shuffle", data=images.astype(">f4"), chunks=(4, 4, 6), compression="gzip", shuffle=True, fletcher32=True)
        f.create_dataset("lzf", data=images, chunks=(8, 4, 6), compression="lzf")
        f.create_dataset("szip", data=images.astype(np.int16), chunks=(8, 4, 6), compression="szip")
        f.create_dataset("scaleoffset", data=images.astype(np.int32), chunks=(8, 4, 6), scaleoffset=0)
        f.create_dataset("unallocated", shape=(1000, 1000), dtype="f8", chunks=(10, 1000))
        f.create_dataset("resizable", data=images, chunks=(8, 4, 6), maxshape=(None, 4, 6))
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((5,))
        h5py.h5d.create(f.id, b"compact", h5py.h5t.NATIVE_INT64, space, compact).write(space, space, np.arange(5))
        types = f.create_group("types")
        types.create_dataset("scalar", data=np.float64(2))
        types.create_dataset("empty", data=h5py.Empty("f4"))
        types.create_dataset("bool", data=np.array([True, False]))
        types.create_dataset("str", data=["a", "bc"])
        types.create_dataset("bytes", data=np.array([b"ab", b"c"]))
        types.create_dataset("compound", data=np.zeros(3, dtype=[("x", "i4"), ("y", "f8")]))
        types.create_dataset("jpeg", shape=(3,), dtype=h5py.vlen_dtype(np.uint8))
        types.create_dataset("float16", data=np.zeros((2, 3), np.float16))
        types.create_dataset("complex", data=np.zeros((2, 3), np.complex64))
        types.create_dataset("length_zero", shape=(0, 3), dtype="u1", chunks=(4, 3), maxshape=(None, 3))

# Names that lead out of the file, or round in circles.
with h5py.File("outside.h5", "w") as f:
    f.create_dataset("here", data=images)
    f["soft"] = h5py.SoftLink("/here")
    f["dangling"] = h5py.SoftLink("/nowhere")
    f["external"] = h5py.ExternalLink("pipetune-fifo.h5", "/x")
    f["again"] = f["here"]
    below = f.create_group("a/b")
    below["up"] = f["a"]
    f.create_dataset("raw", shape=(4, 8), dtype="u1", external=[("pipetune-fifo.raw", 0, 32)])
    layout = h5py.VirtualLayout(shape=(2, 4), dtype="u1")
    layout[0] = h5py.VirtualSource("pipetune-fifo.h5", "x", shape=(4,))
    layout[1] = h5py.VirtualSource("pipetune-fifo-2.h5", "y", shape=(4,))
    f.create_virtual_dataset("virtual", layout)

# A virtual dataset that grows with its sources: asking such a one for its shape opens them.
with h5py.File("growing.h5", "w", libver="latest") as f:
    layout = h5py.VirtualLayout(shape=(4, 4), dtype="u1", maxshape=(None, 4))
    source = h5py.VirtualSource("pipetune-fifo.h5", "x", shape=(4, 4), maxshape=(None, 4))
    layout[0 : h5py.h5s.UNLIMITED : 1, :] = source[0 : h5py.h5s.UNLIMITED : 1, :]
    f.create_virtual_dataset("growing", layout)

# A user block before the signature.
with h5py.File("userblock.h5", "w", userblock_size=512) as f:
    f.create_dataset("x", data=images)

# A filter with a number nobody registered; the chunk itself is stored unfiltered.
with h5py.File("unknown_filter.h5", "w") as f:
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((8, 4, 6))
    plist.set_filter(31999, h5py.h5z.FLAG_OPTIONAL, (3, 1))
    space = h5py.h5s.create_simple(images.shape)
    h5py.h5d.create(f.id, b"x", h5py.h5t.NATIVE_UINT8, space, plist)

# Many datasets, one per sample, and a deep chain of groups.
with h5py.File("many.h5", "w", libver="latest") as f:
    for i in range(40):
        f.create_dataset(f"sample_{i:03}", data=images[0])
    f.create_group("/".join("d" * 20)).create_dataset("deep", data=images[0])

# NumPy files, as numpy.save writes them.
np.save("plain.npy", images)
np.save("fortran.npy", np.asfortranarray(images.astype(">f4")))
np.save("scalar.npy", np.float64(1))
np.save("text.npy", np.array(["a", "bcd"]))
np.save("fields.npy", np.zeros(3, dtype=[("x", "<i4"), ("y", "<f8", (2,))]))
np.save("objects.npy", np.array([1, "a"], dtype=object))


def describe(d):
    plist = d.id.get_create_plist()
    layout = {h5py.h5d.COMPACT: "compact", h5py.h5d.CONTIGUOUS: "contiguous", h5py.h5d.CHUNKED: "chunked", h5py.h5d.VIRTUAL: "virtual"}[plist.get_layout()]
    if d.external:
        layout = "external"
    return {
        "shape": list(d.shape or ()),
        "layout": layout,
        "chunk": list(d.chunks or ()),
        "filters": [plist.get_filter(i)[0] for i in range(plist.get_nfilters())],
        "stored": None if layout in ("virtual", "external") else d.id.get_storage_size(),
        "element": d.id.get_type().get_size(),
    }


answers = {}
for name in sorted(os.listdir(".")):
    if name.endswith(".h5") and name not in ("growing.h5", "written_by_2.2.h5"):  # the first would open its sources
        with h5py.File(name, "r") as f:
            found = {}
            f.visititems(lambda path, o: found.update({"/" + path: describe(o)}) if isinstance(o, h5py.Dataset) else None)
            answers[name] = found
with open("hdf5.json", "w") as f:
    json.dump(answers, f, indent=1, sort_keys=True)
    f.write("\n")
