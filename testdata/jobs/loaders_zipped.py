"""Two DataLoaders are gone over together in each step, as of labelled and unlabelled data, and one of them is slow.

Planted: the second loader's items wait for an object store (played by a sleep), and its two workers make a batch in
more than a step. The first one's workers are done early, and stand idle.
Cure: more workers for the second loader. More of the first's bring nothing.
"""

import time

import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

ITEMS = 6400


class Items(Dataset):
    def __init__(self, compute, wait):
        self.compute, self.wait = compute, wait

    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        stopwatch.burn(self.compute)
        time.sleep(self.wait)
        return torch.full((3, 64, 64), float(index)), index % 2


class Together:
    """Goes over two loaders at once."""

    def __init__(self, first, second):
        self.first, self.second = first, second

    def __iter__(self):
        return zip(self.first, self.second)


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=32, step=0.02)
    settings = dict(batch_size=args.batch_size, shuffle=True, num_workers=args.workers, prefetch_factor=args.prefetch)
    labelled = DataLoader(Items(0.0003, 0), **settings)
    unlabelled = DataLoader(Items(0.0001, 0.0021), **settings)
    training.run(args, Together(labelled, unlabelled))


if __name__ == "__main__":
    main()
