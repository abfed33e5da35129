"""A healthy job whose workers end with each epoch, at no cost that matters.

Nothing is planted: persistent_workers is left at False, but epochs take several seconds and a forked worker of a small
data set is there in some ten milliseconds. Said as a hint that is fine; as an error it is wrong.
"""


import torch
from torch.utils.data import DataLoader, Dataset

import gpu
import stopwatch


class Patches(Dataset):
    def __len__(self):
        return 4800

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randn(3, 48, 48, generator=generator), index % 2


def train_step(x, y, seconds):
    gpu.step(seconds)


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=32, step=0.05)
    loader = DataLoader(Patches(), batch_size=args.batch_size, num_workers=args.workers, prefetch_factor=args.prefetch,
                        multiprocessing_context="fork")
    watch = stopwatch.StopWatch(args)
    for epoch in watch.epochs():
        for x, y in watch.batches(loader):
            train_step(x, y, args.step)


if __name__ == "__main__":
    main()
