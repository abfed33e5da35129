"""Spawned workers that end with each epoch.

Planted: multiprocessing_context="spawn" with persistent_workers left at False: each epoch begins with starting Python
and importing torch in every worker. The data set itself is cheap.
Cure: persistent_workers=True, or fork. Where a small data set is forked, or an epoch is long, it costs nothing that
matters: --set multiprocessing_context=fork --batch-size 32 --step 0.07.
"""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import settings
import stopwatch
import training


class Table(Dataset):
    """Rows of a table that fits in memory."""

    def __init__(self, rows=3200):
        rng = np.random.default_rng(8)
        self.x = rng.standard_normal((rows, 256), dtype=np.float32)
        self.y = rng.integers(0, 2, rows)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return torch.from_numpy(self.x[index]), int(self.y[index])


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=64, step=0.05)
    loader = DataLoader(Table(), **settings.chosen(
        args, batch_size=args.batch_size, shuffle=True, num_workers=args.workers, prefetch_factor=args.prefetch,
        multiprocessing_context="spawn"))
    training.run(args, loader)


if __name__ == "__main__":
    main()
