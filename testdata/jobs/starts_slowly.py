"""A healthy job that starts slowly: an index is read in the main thread before the first batch, then a step compiles.

Planted: nothing. While the index is read, and while step 45 compiles, no step passes: what the main thread does until
then tells nothing of training.
"""

import os
import time

import torch
from torch.utils.data import DataLoader, Dataset

import gpu
import stopwatch


def index(seconds):
    """Reads the standard library's sources, as a data set reads the names and sizes of its files."""
    folder, end, found = os.path.dirname(os.__file__), time.monotonic() + seconds, {}
    while time.monotonic() < end:
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    found[name] = file.read().count(b"\n")
    return found


class Items(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, index):
        stopwatch.burn(0.0002)
        return torch.full((3, 32, 32), float(index)), index % 10


def main():
    args = stopwatch.arguments(__doc__, workers=1, batch_size=32, step=0.05, index=0.0, compile=0.0, at=45)
    index(args.index)
    loader = DataLoader(Items(), batch_size=args.batch_size, num_workers=args.workers, prefetch_factor=args.prefetch,
                        persistent_workers=True)
    watch = stopwatch.StopWatch(args)
    for _ in watch.epochs():
        for x, y in watch.batches(loader):
            if watch.batch_count == args.at:
                watch.write()  # what came before it is told now
                end = time.monotonic() + args.compile
                while time.monotonic() < end:
                    stopwatch.burn(0.01)
            gpu.step(args.step)


if __name__ == "__main__":
    main()
