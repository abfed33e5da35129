"""Workers take turns at one archive, whose reader they share with a lock.

Planted: a multiprocessing.Lock around the read, which takes most of an item; the rest each worker does by itself.
Cure: a reader of its own in each worker. More workers wait for the lock, and bring nothing.
"""

import multiprocessing
import time

import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

ITEMS, READ, REST = 4000, 0.004, 0.002


class Archive(Dataset):
    def __init__(self):
        self.lock = multiprocessing.Lock()

    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        with self.lock:
            time.sleep(READ)  # the one reader, of something that is not on this machine
        time.sleep(REST)
        return torch.full((3, 64, 64), float(index)), index % 10


def main():
    args = stopwatch.arguments(__doc__, workers=3, batch_size=8, step=0.005)
    loader = DataLoader(Archive(), batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
