"""Batches that nearly fill a small /dev/shm.

Planted: 19 MiB per batch, 2 workers x prefetch 2, on the 128 MiB tmpfs the runner mounts on /dev/shm (64 MiB is what
Docker gives). It keeps up, but one more worker, or a deeper prefetch_factor, ends it with a bus error.
Cure: a larger /dev/shm, before anything else is raised.
"""


import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import gpu
import stopwatch


class Frames(Dataset):
    def __init__(self, items=1600):
        self.items = items
        self.pool = torch.from_numpy(np.random.default_rng(10).standard_normal((8, 3, 224, 224), dtype=np.float32))

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        return self.pool[index % len(self.pool)], index % 5


def train_step(x, y, seconds):
    gpu.step(seconds)


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=32, step=0.15)
    loader = DataLoader(Frames(), batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    watch = stopwatch.StopWatch(args)
    for epoch in watch.epochs():
        for x, y in watch.batches(loader):
            train_step(x, y, args.step)


if __name__ == "__main__":
    main()
