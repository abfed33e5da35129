"""What costs time in the loops of this folder: Python that holds the GIL, native code that does not, items."""

import math
import os
import time
import zlib

import numpy as np
import torch
from torch.utils.data import Dataset

ITEM = (3, 64, 64)
FILES = 64
_native = bytes(1 << 18)


def python_work(seconds):
    """Runs bytecode for so much CPU time of the calling thread."""
    end = time.thread_time() + seconds
    total = 0
    while time.thread_time() < end:
        for i in range(300):
            total += i
    return total


def native_work(seconds):
    """Keeps a CPU without the GIL, as operators in C++ do."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        zlib.crc32(_native)


def make_data(folder, kind):
    """Writes the small files that items of this kind are read from, once."""
    if os.path.isdir(folder):
        return
    partial = "%s.making-%d" % (folder, os.getpid())
    os.makedirs(partial)
    random = np.random.default_rng(5)
    if kind == "file":
        for i in range(FILES):
            random.integers(0, 255, 3 * 64 * 64, dtype=np.uint8).tofile(os.path.join(partial, "%d.bin" % i))
    if kind == "hdf5":
        import h5py

        with h5py.File(os.path.join(partial, "items.h5"), "w") as file:
            items = random.integers(0, 9, (FILES, *ITEM), dtype=np.uint8)
            file.create_dataset("x", data=items, chunks=(4, *ITEM), compression="gzip")
    os.rename(partial, folder)


def exponential(index):
    """A value of the exponential distribution with mean 1, the same each time for an index."""
    part = ((index * 2654435761) & 0xFFFFFFFF) >> 16
    return -math.log((part + 0.5) / 65536)


class Items(Dataset):
    """Items that take so many seconds each, spent as kind says.

    sleep: waiting, as for storage far away. cpu: Python. native: a CPU without the GIL. file: a small file and Python.
    hdf5: a compressed chunk and Python. memory: a copy of an array and Python.
    Where they vary, how long one takes follows from its index. An item may hold more tensors, of 2 KiB.
    """

    def __init__(self, kind, seconds, count, folder="", vary=False, tensors=0):
        self.kind, self.seconds, self.count, self.folder, self.vary = kind, seconds, count, folder, vary
        self.array = np.ones((FILES, *ITEM), dtype=np.float32) if kind == "memory" else None
        self.file = None
        self.more = [torch.ones(512) for _ in range(tensors)]

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        begun = time.thread_time()
        x = self.read(index % FILES)
        seconds = self.seconds * (exponential(index) if self.vary else 1)
        left = seconds - (time.thread_time() - begun)
        if self.kind == "sleep":
            time.sleep(seconds)
        elif self.kind == "native":
            native_work(left)
        else:
            python_work(left)
        return (x, index % 10, *self.more)

    def read(self, index):
        if self.kind == "memory":
            return torch.from_numpy(self.array[index].copy())
        if self.kind == "file":
            with open(os.path.join(self.folder, "%d.bin" % index), "rb") as file:
                return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).float().reshape(ITEM)
        if self.kind == "hdf5":
            if self.file is None:
                import h5py

                self.file = h5py.File(os.path.join(self.folder, "items.h5"), "r")
            return torch.from_numpy(self.file["x"][index]).float()
        return torch.full(ITEM, float(index))
