"""A training loop that computes metrics in Python after each step.

Planted: the loader is far ahead, the GPU's part of a step is short, and the main thread spends most of the step in
Python loops over predictions (a confusion matrix, string formatting for a log).
Cure: compute the metrics in tensors, or every N steps.
"""


import torch
from torch.utils.data import DataLoader, Dataset

import gpu
import stopwatch


class Rows(Dataset):
    def __len__(self):
        return 64000

    def __getitem__(self, index):
        return torch.arange(index, index + 64, dtype=torch.float32), index % 10


def train_step(x, y, seconds):
    gpu.step(seconds)
    return (x.sum(dim=1) % 10).long()


def update_metrics(predicted, y, confusion):
    lines = []
    for _ in range(20):  # top-1 .. top-20
        for truth, guess in zip(y.tolist(), predicted.tolist()):
            confusion[truth][guess] += 1
            lines.append("%d;%d;%.3f" % (truth, guess, confusion[truth][truth] / max(1, sum(confusion[truth]))))
    return "\n".join(lines)


def main():
    args = stopwatch.arguments(__doc__, workers=1, batch_size=256, step=0.008)
    loader = DataLoader(Rows(), batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    confusion = [[0] * 10 for _ in range(10)]
    watch = stopwatch.StopWatch(args)
    for epoch in watch.epochs():
        for x, y in watch.batches(loader):
            predicted = train_step(x, y, args.step)
            for _ in range(6):
                update_metrics(predicted, y, confusion)


if __name__ == "__main__":
    main()
