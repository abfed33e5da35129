"""HDF5 opened anew in every __getitem__.

Planted: h5py.File(...) inside __getitem__. Opening, looking up two names and closing cost many times the read of 8 KiB.
Cure: open once per worker, on the first item.
"""

import os

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

ITEMS = 16000


def make(folder):
    rng = np.random.default_rng(1)
    with h5py.File(os.path.join(folder, "train.h5"), "w") as file:
        file.create_dataset("x", data=rng.standard_normal((ITEMS, 32, 64), dtype=np.float32))
        file.create_dataset("y", data=rng.integers(0, 10, ITEMS))


class Windows(Dataset):
    def __init__(self, folder):
        self.path = os.path.join(folder, "train.h5")
        with h5py.File(self.path, "r") as file:
            self.length = file["x"].shape[0]

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        with h5py.File(self.path, "r") as file:
            return torch.from_numpy(file["x"][index]), int(file["y"][index])


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=128, step=0.008)
    data = Windows(stopwatch.dataset(args, make))
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
