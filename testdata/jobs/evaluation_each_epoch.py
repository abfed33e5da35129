"""Training stops after each short epoch to evaluate, and the evaluation loads its data itself.

Planted: an epoch of training takes about a second and a half, and the evaluation after it nearly as long, most of it in loading: its DataLoader has
num_workers=0, while the training loop's own workers keep up.
Cure: --eval-workers 2, or --every 4 (evaluate after every fourth epoch).
"""

import time

import torch
from torch.utils.data import DataLoader, Dataset

import gpu
import stopwatch

TRAIN_ITEMS, EVAL_ITEMS = 1600, 480


class Crops(Dataset):
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        stopwatch.burn(0.0005)
        time.sleep(0.0015)  # an object store
        return torch.full((3, 64, 64), float(index % 7)), index % 10


def evaluate(watch, loader, seconds):
    total = 0.0
    with torch.no_grad():
        for x, y in watch.batches(loader):
            gpu.step(seconds)
            total += float(x.mean())
    return total / max(len(loader), 1)


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=32, step=0.045, eval_workers=0, every=1)
    train = DataLoader(Crops(TRAIN_ITEMS), batch_size=args.batch_size, shuffle=True, num_workers=args.workers, persistent_workers=True)
    evaluation = DataLoader(Crops(EVAL_ITEMS), batch_size=args.batch_size, num_workers=args.eval_workers,
                            persistent_workers=args.eval_workers > 0)
    watch = stopwatch.StopWatch(args)
    for epoch in watch.epochs():
        for x, y in watch.batches(train):
            gpu.step(args.step)
        if (epoch + 1) % args.every == 0 and not watch.over():
            evaluate(watch, evaluation, 0.02)


if __name__ == "__main__":
    main()
