"""A healthy job that trains a small convolutional network for real, on the CPU.

Nothing is planted in the loader: it is far ahead. The trainer's main thread computes.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import stopwatch


class Patches(Dataset):
    def __init__(self):
        self.x = torch.randn(512, 3, 32, 32)

    def __len__(self):
        return 6400

    def __getitem__(self, index):
        return self.x[index % len(self.x)], index % 10


def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()


def main():
    args = stopwatch.arguments(__doc__, workers=1, batch_size=64)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Conv2d(3, 24, 3), nn.ReLU(), nn.Conv2d(24, 24, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
                          nn.Linear(384, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Patches(), batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    watch = stopwatch.StopWatch(args)
    for epoch in watch.epochs():
        for x, y in watch.batches(loader):
            train_step(model, optimizer, x, y)


if __name__ == "__main__":
    main()
