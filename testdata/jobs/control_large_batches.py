"""A healthy job with large batches: 38 MiB each, half a second per step.

Nothing is planted: few, large batches are no fault, and /dev/shm has room for them.
"""


import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import gpu
import stopwatch


class Frames(Dataset):
    def __init__(self, items=3200):
        self.items = items
        self.pool = np.random.default_rng(12).integers(0, 255, (8, 3, 224, 224), dtype=np.uint8)

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        return torch.from_numpy(self.pool[index % len(self.pool)]).float() / 255, index % 5


def train_step(x, y, seconds):
    gpu.step(seconds)


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=64, step=0.5)
    loader = DataLoader(Frames(), batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    watch = stopwatch.StopWatch(args)
    for epoch in watch.epochs():
        for x, y in watch.batches(loader):
            train_step(x, y, args.step)


if __name__ == "__main__":
    main()
