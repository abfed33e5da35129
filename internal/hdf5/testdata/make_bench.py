"""Writes bench.h5, four layouts of the same items, for BenchmarkItem; or times h5py on it.

    /usr/bin/python3 make_bench.py FOLDER [time]

Side by side, on one file, both with the CPU time beside the clock's:

    PIPETUNE_BENCH=FOLDER go test -run xxx -bench . ./internal/hdf5

Items are 64 x 128 float32 (32 KiB) with noise in their low bits only, so that gzip halves them roughly. Timed is dset[i] at random indices, warm.
"""
import os
import sys
import time

import h5py
import numpy as np

path = os.path.join(sys.argv[1], "bench.h5")
count, shape = 1024, (64, 128)
if len(sys.argv) < 3:
    rng = np.random.default_rng(3)
    data = rng.integers(0, 4096, (count, *shape)).astype("f4")
    with h5py.File(path, "w") as f:
        f.create_dataset("contiguous", data=data)
        f.create_dataset("item", data=data, chunks=(1, *shape))
        f.create_dataset("many", data=data, chunks=(64, *shape))
        f.create_dataset("gzip_item", data=data, chunks=(1, *shape), compression="gzip", compression_opts=4)
        f.create_dataset("gzip_many", data=data, chunks=(64, *shape), compression="gzip", compression_opts=4)
    sys.exit()
with h5py.File(path, "r") as f:
    for name in f:
        d = f[name]
        order = np.random.default_rng(5).permutation(count)
        for i in order[:64]:
            d[i]
        n, began, used = 0, time.perf_counter(), time.process_time()
        while (took := time.perf_counter() - began) < 0.5:
            for i in order[n % count : n % count + 16]:
                d[int(i)]
            n += 16
        print(f"h5py {name:12} {took / n * 1e6:10.2f} us/item {(time.process_time() - used) / n * 1e6:10.2f} us of CPU time")
    for k in (16, 64, 256):
        batch = np.sort(np.random.default_rng(6).permutation(count)[:k])
        for name in ("contiguous", "item"):
            d, n, began = f[name], 0, time.perf_counter()
            while (took := time.perf_counter() - began) < 0.5:
                d[batch]
                n += 1
            print(f"h5py {name:12} batch of {k:3} {took / n * 1e6:10.0f} us/batch")
n, began = 0, time.perf_counter()
while (took := time.perf_counter() - began) < 1.0:
    with h5py.File(path, "r", locking=False) as f:
        d = f["item"]
        d.shape, d.dtype, d.chunks, d.compression
    n += 1
print(f"h5py {'open':12} {took / n * 1e6:10.2f} us")
