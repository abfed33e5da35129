"""Goes over a loader with a stop-watch, while it takes the hook 110 ms to look at a batch, which makes each step one to be taken in full. Prints the seconds that the job waited for batches."""

import sys
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

DATA = TensorDataset(torch.zeros(12, 2))


def slowly(function):
    def slow(batch):
        time.sleep(0.11)
        return function(batch)

    return slow


def main():
    epoch = sys.modules["pipetune_hook.epoch"]
    epoch.samples = slowly(epoch.samples)
    last = DataLoader(DATA, num_workers=0)
    iterator, waited = iter(DataLoader(DATA, num_workers=0)), 0.0
    for _ in range(len(DATA)):
        begun = time.monotonic()
        next(iterator)
        waited += time.monotonic() - begun
        time.sleep(0.001)
    print(waited)
    for _ in range(20):  # what is left is told
        time.sleep(0.02)
        next(iter(last))


main()
