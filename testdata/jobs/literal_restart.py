"""A loader that says nothing of its workers but their number, so that they end with each short epoch.

Planted: persistent_workers is not named, and each worker reads an index of a second at its first item.
Cure: persistent_workers=True, which the report offers as a patch of this file.
"""

import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training


class Indexed(Dataset):
    def __init__(self):
        self.index = None

    def __len__(self):
        return 480

    def __getitem__(self, number):
        if self.index is None:
            time.sleep(1.0)  # reading the index
            self.index = np.arange(480)
        return torch.full((1024,), float(self.index[number])), number % 10


def main():
    args = stopwatch.arguments(__doc__, batch_size=16, step=0.05)
    stopwatch.dataset(args, lambda folder: None)
    loader = DataLoader(Indexed(), args.batch_size, shuffle=True, num_workers=2)
    training.run(args, loader)


if __name__ == "__main__":
    main()
