"""Batches are taken from the workers by a thread of the trainer's own, which hands them on by a queue.

Planted: items are dear, and two workers are too few for the step. The main thread waits for the thread's queue, not for
the workers', so that the wait looks like any other sleep; what shows is that the workers are never idle.
Cure: more workers where there are CPUs for them, cheaper items. The thread itself brings nothing here.
"""

import queue
import threading

import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

ITEMS, AHEAD = 2000, 2


class Items(Dataset):
    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        stopwatch.burn(0.008)
        return torch.full((3, 64, 64), float(index)), index % 2


class Ahead:
    """An iterator that a thread is ahead of, by so many batches."""

    def __init__(self, batches):
        self.queue = queue.Queue(AHEAD)
        threading.Thread(target=self.fill, args=(batches,), daemon=True).start()

    def fill(self, batches):
        for batch in batches:
            self.queue.put(batch)
        self.queue.put(None)

    def __iter__(self):
        return self

    def __next__(self):
        batch = self.queue.get()
        if batch is None:
            raise StopIteration
        return batch


class AheadLoader(DataLoader):
    def __iter__(self):
        return Ahead(super().__iter__())


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=8, step=0.005)
    loader = AheadLoader(Items(), batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                         prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
