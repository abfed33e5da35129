#!/usr/bin/env python3
"""Writes NumPy arrays into a folder, and what NumPy itself reads at some indices of them.

usage: make_arrays.py FOLDER
"""

import os
import sys

import numpy as np

os.chdir(sys.argv[1])
rng = np.random.default_rng(3)


def items(array, **named):
    """Each item is what indexing the mapped file gives, copied, as a data set's __getitem__ would."""
    for name, index in named.items():
        with open(name, "wb") as f:
            f.write(np.ascontiguousarray(array[index]).tobytes())


np.save("c.npy", rng.integers(0, 60000, (10, 5, 6, 3), dtype=np.uint16))
items(
    np.load("c.npy", mmap_mode="r"),
    c_7=np.s_[7],
    c_3=np.s_[3],
    c_3_to_5=np.s_[3:5],
    c_rows=np.s_[3, 1:3],
    c_patch=np.s_[3:5, 1:3, 2:5],
    c_scattered=np.s_[3:5, 1:3, 2:5, 1:2],
)

fields = np.zeros(5, dtype=[("x", "<i4"), ("y", "<f8", (2,)), ("name", "S3")])
fields["x"], fields["y"] = range(5), rng.random((5, 2))
np.save("fields.npy", fields)
items(np.load("fields.npy", mmap_mode="r"), fields_2=np.s_[2])

line = rng.random(8)
np.save("one_axis.npy", line)
items(np.load("one_axis.npy", mmap_mode="r"), one_axis_4=np.s_[4])
with open("one_axis_fortran.npy", "wb") as f:  # NumPy itself writes arrays of one axis in C order
    np.lib.format.write_array_header_1_0(f, {"descr": "<f8", "fortran_order": True, "shape": (8,)})
    f.write(line.tobytes())

with open("version_2.npy", "wb") as f:
    np.lib.format.write_array(f, rng.random((3, 2)).astype(">f4"), version=(2, 0))
items(np.load("version_2.npy", mmap_mode="r"), version_2_1=np.s_[1])
