"""Healthy: batches are ready in time, and every so many steps the model is evaluated, by another DataLoader.

Nothing is planted. The evaluation's workers are kept alive and wait for work while training goes on; in an evaluation
the trainer waits for their batches, while the training loader's stand ready.
"""

import time

import torch
from torch.utils.data import DataLoader, Dataset

import gpu
import stopwatch

ITEMS, EVALUATED, EVERY = 6400, 256, 100


class Items(Dataset):
    def __init__(self, count, wait):
        self.count, self.wait = count, wait

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(self.wait)
        return torch.full((3, 64, 64), float(index)), index % 2


def evaluate(loader):
    with torch.no_grad():
        for _ in loader:
            gpu.step(0.005)


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=32, step=0.03)
    settings = dict(batch_size=args.batch_size, num_workers=args.workers, prefetch_factor=args.prefetch,
                    persistent_workers=True)
    training = DataLoader(Items(ITEMS, 0.0004), shuffle=True, **settings)
    evaluation = DataLoader(Items(EVALUATED, 0.003), **settings)
    watch, steps = stopwatch.StopWatch(args), 0
    for _ in watch.epochs():
        for _ in watch.batches(training):
            gpu.step(args.step)
            steps += 1
            if steps % EVERY == 0:
                with watch.evaluation():
                    evaluate(evaluation)


if __name__ == "__main__":
    main()
