"""A memory-mapped .npy read in random order from slow storage.

Planted: as storage_throttled, but no worker ever calls read: the waiting is in page faults.
Cure: faster or local storage, or fewer, larger reads.
"""

import mmap
import os

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

ITEMS, LENGTH = 65536, 1024  # 4 KiB each, 256 MiB together


def make(folder):
    rng = np.random.default_rng(6)
    path = os.path.join(folder, "frames.npy")
    frames = np.lib.format.open_memmap(path, "w+", np.float32, (ITEMS, LENGTH))
    block = rng.standard_normal((4096, LENGTH), dtype=np.float32)
    for first in range(0, ITEMS, 4096):
        frames[first:first + 4096] = block
    frames.flush()
    with open(path, "rb") as file:
        os.fsync(file.fileno())  # dirty pages cannot be dropped


class Frames(Dataset):
    def __init__(self, folder):
        self.path = os.path.join(folder, "frames.npy")
        self.frames = None

    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        if self.frames is None:
            self.frames = np.load(self.path, mmap_mode="r")
            # As for any random access: without it the kernel reads ahead, on some machines 8 MiB for each 4 KiB.
            self.frames._mmap.madvise(mmap.MADV_RANDOM)
        return torch.from_numpy(np.array(self.frames[index]))


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=8, step=0.02)
    data = Frames(stopwatch.dataset(args, make))
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
