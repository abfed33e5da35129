"""A healthy job whose workers are spawned, once.

Nothing is planted: spawn is slow to start, but persistent_workers=True makes that happen once, before the steps flow.
"""


import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import gpu
import stopwatch


class Table(Dataset):
    def __init__(self, rows=6400):
        rng = np.random.default_rng(13)
        self.x = rng.standard_normal((rows, 512), dtype=np.float32)
        self.y = rng.integers(0, 2, rows)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return torch.from_numpy(self.x[index]), int(self.y[index])


def train_step(x, y, seconds):
    gpu.step(seconds)


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=64, step=0.06)
    loader = DataLoader(Table(), batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True, multiprocessing_context="spawn")
    watch = stopwatch.StopWatch(args)
    for epoch in watch.epochs():
        for x, y in watch.batches(loader):
            train_step(x, y, args.step)


if __name__ == "__main__":
    main()
