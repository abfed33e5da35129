"""Random items out of gzip chunks larger than HDF5's chunk cache.

Planted: chunks of 64 items, 10 MiB inflated, above the default chunk cache of every HDF5 (1 MiB before 2.0, 8 MiB
since), so each item of a shuffled epoch inflates a whole chunk. The file itself is opened once per worker.
Cure: one item per chunk, or no compression.
"""

import os

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

ITEMS, SIDE, PER_CHUNK = 512, 200, 64


def make(folder):
    rng = np.random.default_rng(2)
    with h5py.File(os.path.join(folder, "volumes.h5"), "w") as file:
        x = file.create_dataset("x", (ITEMS, SIDE, SIDE), "f4", chunks=(PER_CHUNK, SIDE, SIDE), compression="gzip",
                                compression_opts=4)
        for first in range(0, ITEMS, PER_CHUNK):
            noise = rng.standard_normal((PER_CHUNK, SIDE, SIDE), dtype=np.float32)
            x[first:first + PER_CHUNK] = np.round(noise * 8) / 8  # as from an 8-bit scanner: packs to about a fifth
        file.create_dataset("y", data=rng.integers(0, 2, ITEMS))


class Volumes(Dataset):
    def __init__(self, folder):
        self.path = os.path.join(folder, "volumes.h5")
        self.file = None

    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        if self.file is None:
            self.file = h5py.File(self.path, "r")
        return torch.from_numpy(self.file["x"][index]), int(self.file["y"][index])


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=4, step=0.04)
    data = Volumes(stopwatch.dataset(args, make))
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
