"""Items of which 64 lie compressed in one file, read in random order.

Planted: each item opens a .npz file and inflates 1 MiB to take 16 KiB of it.
Cure: --by-file 1, which draws files in random order and then the items of each, and keeps the last file decoded.
"""

import functools
import os
import random

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

FILES, EACH = 64, 64


def make(folder):
    rng = np.random.default_rng(17)
    for number in range(FILES):
        noise = (rng.standard_normal((EACH, 64, 64)) * 20).astype(np.int16).astype(np.float32)
        np.savez_compressed(os.path.join(folder, "part-%03d.npz" % number), x=noise)


def load(path):
    with np.load(path) as file:
        return file["x"]


class Parts(Dataset):
    def __init__(self, folder, keep):
        self.paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
        self.load = functools.lru_cache(1)(load) if keep else load

    def __len__(self):
        return FILES * EACH

    def __getitem__(self, index):
        return torch.from_numpy(self.load(self.paths[index // EACH])[index % EACH].copy())


class ByFile:
    """Indices file by file; with batches of EACH a batch is a file."""

    def __len__(self):
        return FILES * EACH

    def __iter__(self):
        for file in random.sample(range(FILES), FILES):
            yield from random.sample(range(file * EACH, (file + 1) * EACH), EACH)


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=64, step=0.04, by_file=0)
    data = Parts(stopwatch.dataset(args, make), args.by_file)
    order = {"sampler": ByFile()} if args.by_file else {"shuffle": True}
    loader = DataLoader(data, batch_size=args.batch_size, num_workers=args.workers, prefetch_factor=args.prefetch,
                        persistent_workers=True, **order)
    training.run(args, loader)


if __name__ == "__main__":
    main()
