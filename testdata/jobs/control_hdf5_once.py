"""A healthy job on HDF5: one item per compressed chunk, the file opened once per worker.

Nothing is planted. Its item costs vary, which the prefetched batches absorb.
"""

import os

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

ITEMS = 2000


def make(folder):
    rng = np.random.default_rng(19)
    with h5py.File(os.path.join(folder, "scans.hdf5"), "w") as file:
        x = file.create_dataset("scans", (ITEMS, 96, 96), "f4", chunks=(1, 96, 96), compression="gzip", compression_opts=1)
        for index in range(ITEMS):
            x[index] = np.round(rng.standard_normal((96, 96)) * 4) / 4


class Scans(Dataset):
    def __init__(self, folder):
        self.path = os.path.join(folder, "scans.hdf5")
        self.scans = None

    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        if self.scans is None:
            self.scans = h5py.File(self.path, "r")["scans"]
        stopwatch.burn(0.0005 * (index % 4))
        return torch.from_numpy(self.scans[index])


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=16, step=0.06)
    data = Scans(stopwatch.dataset(args, make))
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
