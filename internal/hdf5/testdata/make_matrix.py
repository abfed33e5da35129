"""Writes HDF5 files of every layout, filter and type, and what h5py reads from them: the other opinion on what a Reader delivers.

    /usr/bin/python3 make_matrix.py FOLDER

FOLDER/matrix.json lists for each dataset its items, blocks and batches, each as the SHA-256 of h5py's bytes, or that it is to be refused.
"""
import hashlib
import json
import os
import sys

import h5py
import numpy as np

out = sys.argv[1]
os.chdir(out)
rng = np.random.default_rng(11)

integers = [order + kind + size for kind in "iu" for size in "1248" for order in "<>" if size != "1" or order == "<"]
floats = [order + "f" + size for size in "248" for order in "<>"]
types = {name: np.dtype(name) for name in integers + floats}
types["bool"] = np.dtype("?")
types["enum"] = h5py.enum_dtype({"cat": 0, "dog": 1, "owl": 7}, basetype="<i2")
types["complex64"] = np.dtype("<c8")
types["complex128be"] = np.dtype(">c16")
types["bytes5"] = np.dtype("S5")
types["opaque"] = np.dtype("V7")
types["packed"] = np.dtype([("id", "<i4"), ("x", ">f8"), ("flag", "u1")])
types["padded"] = np.dtype([("flag", "u1"), ("x", "<f8"), ("half", "<f2")], align=True)
types["nested"] = np.dtype([("box", [("lo", "<i2", (2,)), ("hi", ">i2", (2,))]), ("name", "S3")])

layouts = {"contiguous": None, "compact": "compact", "item": (1, 3, 4), "several": (4, 3, 4), "across": (10, 1, 2), "uneven": (4, 2, 3)}
filters = {
    "none": {},
    "gzip": dict(compression="gzip", compression_opts=4),
    "shuffle": dict(shuffle=True),
    "gzip_shuffle": dict(compression="gzip", shuffle=True),
    "szip": dict(compression="szip"),
    "fletcher32": dict(fletcher32=True),
    "all": dict(compression="gzip", shuffle=True, fletcher32=True),
}
shape = (10, 3, 4)
no_szip = ("bytes5", "opaque", "packed", "padded", "nested", "complex64", "complex128be", "enum", "bool")  # libhdf5: "datatype class not supported", or h5py


def values(dtype, dims):
    """Random bytes are values of any type but bool and enum, whose bytes h5py checks."""
    n = int(np.prod(dims))
    if dtype == np.bool_ or h5py.check_enum_dtype(dtype):
        return rng.integers(0, 2, dims).astype(dtype)
    return np.frombuffer(rng.bytes(n * dtype.itemsize), dtype=dtype).reshape(dims)


def compact(f, name, data, dtype):
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    d = h5py.h5d.create(f.id, name.encode(), h5py.h5t.py_create(dtype, logical=True), h5py.h5s.create_simple(data.shape), plist)
    h5py.Dataset(d)[...] = data


def digest(d, *selections):
    """The bytes of the selections, which are slices: one element alone would become a NumPy scalar, which loses padding and the order of its bytes."""
    h = hashlib.sha256()
    for s in selections:
        if d.shape == ():
            a = np.empty((), d.dtype)
            d.read_direct(a)
        else:
            a = d[s]
        h.update(a.tobytes())
    return h.hexdigest()


def expect(d):
    """What a Reader must deliver of the dataset."""
    e = {"items": [], "blocks": [], "batches": []}
    if d.shape is None:
        return e
    n = d.shape[0] if d.shape else 0
    for i in sorted({0, n // 3, n - 1} if n else {}):
        e["items"].append({"index": i, "sha256": digest(d, slice(i, i + 1))})
    for lo, hi in ((0, 1), (1 / 8, 7 / 8), (1 / 2, 1)):
        start = [int(lo * k) for k in d.shape]
        count = [max(int(hi * k), s) - s for k, s in zip(d.shape, start)]
        e["blocks"].append({"start": start, "count": count, "sha256": digest(d, tuple(slice(s, s + c) for s, c in zip(start, count)))})
    for batch in ([0, 1, 2, n - 1], [n - 1, n // 2, 0, n // 2], []):
        if n > 3:
            e["batches"].append({"indices": batch, "sha256": digest(d, *(slice(i, i + 1) for i in batch))})
    return e


answers = {}
for version, libver in (("earliest", ("earliest", "v108")), ("v108", ("v108", "v108")), ("latest", "latest")):
    name = f"matrix_{version}.h5"
    with h5py.File(name, "w", libver=libver, userblock_size=1024 if version == "v108" else 0) as f:
        for t, dtype in types.items():
            for l, layout in layouts.items():
                for k, options in filters.items():
                    data, path, chunk = values(dtype, shape), f"{t}/{l}/{k}", layout
                    if k != "none" and not isinstance(chunk, tuple) or k == "szip" and t in no_szip:
                        continue
                    if chunk == "compact":
                        f.require_group(os.path.dirname(path))
                        compact(f, path, data, dtype)
                        continue
                    if k == "szip" and l == "across":
                        chunk = (10, 2, 2)  # szip wants 32 values in a chunk at least
                    if k == "szip" and l in ("item", "uneven") and t not in no_szip:
                        data = values(dtype, (10, 6, 8))
                        chunk = (1, 6, 8) if l == "item" else (3, 4, 5)
                    f.create_dataset(path, shape=data.shape, data=data, dtype=dtype, chunks=chunk, **options)
            f.create_dataset(f"{t}/one_axis", data=values(dtype, (50,)), dtype=dtype, chunks=(7,), maxshape=(None,))
            f.create_dataset(f"{t}/no_items", shape=(0, 3), dtype=dtype, chunks=(4, 3), maxshape=(None, 3))
            f.create_dataset(f"{t}/scalar", data=values(dtype, ()), dtype=dtype)
        g = f.create_group("odd")
        g.create_dataset("unwritten", shape=(9, 5), dtype="<i4", fillvalue=-3)
        g.create_dataset("unwritten_chunks", shape=(9, 5), dtype=">i4", chunks=(2, 5), fillvalue=77, compression="gzip")
        half = g.create_dataset("half_written", shape=(9, 5), dtype="<u2", chunks=(2, 3), fillvalue=9)
        half[3:6] = 4
        g.create_dataset("no_axis_length", shape=(4, 0, 2), dtype="u1")
        g.create_dataset("null", data=h5py.Empty("<f4"))
        g.create_dataset("five_axes", data=values(np.dtype("<i2"), (6, 2, 3, 2, 4)), chunks=(2, 1, 3, 2, 2), compression="gzip")
        g.create_dataset("grown", data=values(np.dtype("u1"), (5, 4)), chunks=(2, 4), maxshape=(None, 4))
        g["grown"].resize((9, 4))
        g.create_dataset("scaleoffset", data=rng.integers(0, 99, (10, 12)), chunks=(3, 12), scaleoffset=0)
        f["soft"] = h5py.SoftLink("/odd/five_axes")
        f["odd/soft"] = h5py.SoftLink("half_written")
        f["softer"] = h5py.SoftLink("odd/soft")
        bad = f.create_group("refused")
        bad.create_dataset("lzf", data=values(np.dtype("u1"), shape), chunks=(1, 3, 4), compression="lzf")
        bad.create_dataset("str", data=["a", "bc"])
        bad.create_dataset("sequence", shape=(3,), dtype=h5py.vlen_dtype(np.uint8))
        bad.create_dataset("fields_with_str", shape=(3,), dtype=np.dtype([("a", "i4"), ("b", h5py.string_dtype())]))
        bad.create_dataset("fields_with_sequence", shape=(3,), dtype=np.dtype([("a", "i4"), ("b", h5py.vlen_dtype(np.int32))]))
        bad.create_dataset("array_of_references", shape=(3,), dtype=np.dtype([("r", h5py.ref_dtype, (2,))]))
        bad.create_dataset("reference", shape=(3,), dtype=h5py.ref_dtype)
        bad.create_dataset("region", shape=(3,), dtype=h5py.regionref_dtype)
        f["refused/dangling"] = h5py.SoftLink("/nowhere")
        f["refused/circle"] = h5py.SoftLink("/refused/circle")

    found = {}
    with h5py.File(name, "r") as f:
        f.visititems(lambda path, o: found.update({path: None}) if isinstance(o, h5py.Dataset) else None)
        for path in list(found) + ["soft", "softer", "odd/soft"]:
            found[path] = {"refused": True} if path.startswith("refused/") else expect(f[path])
    for path in ("refused/dangling", "refused/circle", "refused", "nowhere", "odd/null/deeper", "u1/one_axis/x"):
        found[path] = {"refused": True}
    answers[name] = found

# A file that draws on others, which lie in a folder below; and on what must never be opened.
os.mkdir("below")
data = values(np.dtype("<i2"), (4, 6))
with h5py.File("below/other.h5", "w") as f:
    f.create_dataset("a/x", data=data, chunks=(2, 3))
    f["back"] = h5py.ExternalLink("../outside.h5", "/here")
    f["soft"] = h5py.SoftLink("/a")
os.mkfifo("fifo.h5")
with h5py.File("outside.h5", "w") as f:
    f.create_dataset("here", data=data)
    f["link"] = h5py.ExternalLink("below/other.h5", "/a/x")
    f["soft_there"] = h5py.ExternalLink("below/other.h5", "soft/x")
    f["group"] = h5py.ExternalLink("below/other.h5", "/a")
    f["there_and_back"] = h5py.ExternalLink("below/other.h5", "/back")
    f.create_dataset("raw", data=data, external=[("below/first.raw", 0, 24), ("below/second.raw", 8, 24)])
    layout = h5py.VirtualLayout(shape=(3, 4, 6), dtype="<i2")
    layout[0] = h5py.VirtualSource("below/other.h5", "a/x", shape=(4, 6))
    layout[1] = h5py.VirtualSource(".", "here", shape=(4, 6))
    layout[2] = h5py.VirtualSource("missing.h5", "here", shape=(4, 6))
    f.create_virtual_dataset("virtual", layout, fillvalue=5)
    g = f.create_group("never")
    g["link"] = h5py.ExternalLink("fifo.h5", "/x")
    g["missing"] = h5py.ExternalLink("missing.h5", "/x")
    g["circle"] = h5py.ExternalLink("outside.h5", "/never/circle")
    g.create_dataset("raw", shape=(4, 6), dtype="<i2", external=[("fifo.h5", 0, 48)])
    layout = h5py.VirtualLayout(shape=(1, 4, 6), dtype="<i2")
    layout[0] = h5py.VirtualSource("fifo.h5", "x", shape=(4, 6))
    g.create_virtual_dataset("virtual", layout)
with h5py.File("outside.h5", "r") as f:
    outside = {path: expect(f[path]) for path in ("link", "soft_there", "group/x", "there_and_back", "raw", "virtual")}
answers["outside.h5"] = outside

# Sizes that no memory has, in a file that has next to nothing.
with h5py.File("large.h5", "w") as f:
    f.create_dataset("item", shape=(10, 1 << 27), dtype="u1")
    f.create_dataset("item_of_terabytes", shape=(10, 1 << 40), dtype="u1")
    f.create_dataset("chunk", shape=(1 << 30, 2), dtype="u1", chunks=(1 << 29, 2))
    f.create_dataset("long", shape=(1 << 62,), dtype="u1", chunks=(1 << 10,))
    f.create_dataset("long_gzip", shape=(1 << 50, 16), dtype="u1", chunks=(16, 16), compression="gzip")
    f["long_gzip"][1 << 49] = 3

with open("matrix.json", "w") as f:
    json.dump(answers, f)
