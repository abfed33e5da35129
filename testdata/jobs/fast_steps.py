"""Steps of a millisecond, a thousand in a second: what a guest in the trainer costs shows here first.

Nothing is planted. The step is a fixed amount of Python work, not an amount of time, so that whatever slows the trainer
shows in steps per second. The work makes no objects: how long that takes depends on how full Python's pools of memory happen
to be, and one list more in the process may change a step that does by a tenth.
"""

from itertools import repeat

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

import stopwatch


class Reading(Dataset):
    """Items that are Python code: each reads an attribute of its dataset so many times. What a guest does to the object shows."""

    def __init__(self, data, reads):
        self.data, self.reads = data, reads

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        for _ in repeat(None, self.reads):
            self.data
        return self.data[index]


def train_step(work):
    return sum(repeat(1, work))


def main():
    args = stopwatch.arguments(__doc__, workers=0, batch_size=4, work=190000, reads=0)
    stopwatch.dataset(args, lambda folder: None)
    data = TensorDataset(torch.arange(200000.0).reshape(-1, 8))
    if args.reads:
        data = Reading(data, args.reads)
    more = {"prefetch_factor": 16} if args.workers else {}  # without workers PyTorch 2 refuses any
    loader = DataLoader(data, batch_size=args.batch_size, num_workers=args.workers,
                        persistent_workers=args.workers > 0, **more)
    watch = stopwatch.StopWatch(args)
    for epoch in watch.epochs():
        for batch in watch.batches(loader):
            train_step(args.work)


if __name__ == "__main__":
    main()
