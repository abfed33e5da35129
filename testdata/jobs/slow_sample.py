"""One item in 110 takes 50 times as long as the others, and batches are delivered in order.

Planted: items wait for an object store (played by a sleep) and are decoded; a few need 0.8 s instead of 16 ms. The mean
is fine: all workers together make a batch in less than a step. But the trainer waits for the slow batch while the
other workers stand with full queues.
Cure: cut or re-encode the slow items, in_order=False, a deeper prefetch_factor.
"""

import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

ITEMS, SLOW_EVERY = 2200, 110


class Objects(Dataset):
    def __init__(self):
        self.slow = set(np.random.default_rng(9).choice(ITEMS, ITEMS // SLOW_EVERY, replace=False).tolist())

    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        time.sleep(0.8 if index in self.slow else 0.013)
        stopwatch.burn(0.003)
        return torch.full((3, 96, 96), float(index)), index % 2


def main():
    args = stopwatch.arguments(__doc__, workers=4, batch_size=4, step=0.035)
    loader = DataLoader(Objects(), batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
