"""Bags of features, one HDF5 file per slide, opened anew each time a slide comes up.

Planted: each __getitem__ opens the slide's file, lists its 400 patches and reads 12 of them, one group each. Opening and
listing cost many times the reading, and the next epoch does it all again.
Cure: keep the handles, and the lists, in the worker.
"""

import os

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

SLIDES, PATCHES, TAKEN = 60, 400, 12


def make(folder):
    rng = np.random.default_rng(16)
    for slide in range(SLIDES):
        with h5py.File(os.path.join(folder, "slide_%03d.h5" % slide), "w") as file:
            for patch in range(PATCHES):
                file.create_dataset("patch_%04d/features" % patch, data=rng.standard_normal(256, dtype=np.float32))


class Bags(Dataset):
    def __init__(self, folder, repeat=20):
        self.paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))] * repeat

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with h5py.File(self.paths[index], "r") as file:
            patches = sorted(file.keys())
            chosen = torch.randint(len(patches), (TAKEN,)).tolist()
            return torch.stack([torch.from_numpy(file[patches[patch]]["features"][()]) for patch in chosen]), index % 2


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=32, step=0.015)
    data = Bags(stopwatch.dataset(args, make))
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
