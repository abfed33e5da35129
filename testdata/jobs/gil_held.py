"""A training loop beside a thread of its own process that computes in Python most of the time.

Planted: a thread keeps statistics of what was predicted, as loggers and monitors do, in Python loops. One thread of a
process at a time runs Python, so the training loop waits for its turn at each of its own steps in Python.
Cure: --apart 1, the statistics in a process of their own.
"""

import multiprocessing
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset

import gpu
import stopwatch


class Rows(Dataset):
    def __len__(self):
        return 64000

    def __getitem__(self, index):
        return torch.arange(index, index + 64, dtype=torch.float32), index % 10


def keep_statistics():
    counts = {}
    while True:
        for i in range(200000):
            counts[i % 97] = counts.get(i % 97, 0) + 1
        time.sleep(0.005)


def update_metrics(y):
    confusion = [[0] * 10 for _ in range(10)]
    for _ in range(400):
        for truth in y.tolist():
            confusion[truth][truth] += 1


def main():
    args = stopwatch.arguments(__doc__, workers=1, batch_size=256, step=0.005, apart=0)
    start = multiprocessing.Process if args.apart else threading.Thread
    start(target=keep_statistics, daemon=True).start()
    loader = DataLoader(Rows(), batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    watch = stopwatch.StopWatch(args)
    for epoch in watch.epochs():
        for _, y in watch.batches(loader):
            gpu.step(args.step)
            update_metrics(y)


if __name__ == "__main__":
    main()
