"""Workers that all end up on one core.

Planted: worker_init_fn confines each worker to core 0, as some OpenMP settings and launchers do; the other cores idle
while two workers share one.
Cure: take the confinement away.
"""

import os

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training


class Series(Dataset):
    def __init__(self, length=3000):
        self.values = np.random.default_rng(17).standard_normal((length, 2048), dtype=np.float32)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        stopwatch.burn(0.002)
        return torch.from_numpy(self.values[index]), index % 3


def confine(worker):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=16, step=0.015)
    loader = DataLoader(Series(), batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True, worker_init_fn=confine)
    training.run(args, loader)


if __name__ == "__main__":
    main()
