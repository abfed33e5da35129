"""num_workers left at its default of 0, and a model that trains on the CPU: one thread does all, and never sleeps.

Planted: it decodes each JPEG between two steps. With --in-memory 1 the pictures are decoded once, before the first
step, and nothing is planted: the model takes all of the time.
Cure: num_workers >= 1.
"""


import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

import pictures
import stopwatch


def make(folder):
    pictures.folder(folder, 200, 480, 360, ".jpg")


class Pictures(Dataset):
    def __init__(self, folder, kept):
        self.items = pictures.listing(folder)
        self.kept = [self.read(path) for path, _ in self.items] if kept else None

    def __len__(self):
        return len(self.items)

    def read(self, path):
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB").resize((96, 96)))
        return torch.from_numpy(pixels.transpose(2, 0, 1).astype(np.float32) / 255)

    def __getitem__(self, index):
        path, label = self.items[index]
        return self.read(path) if self.kept is None else self.kept[index], label


def main():
    args = stopwatch.arguments(__doc__, workers=0, batch_size=16, channels=24, in_memory=0)
    torch.set_num_threads(1)
    data = Pictures(stopwatch.dataset(args, make), args.in_memory)
    net = nn.Sequential(nn.Conv2d(3, args.channels, 3, 2), nn.ReLU(), nn.Conv2d(args.channels, 32, 3, 2), nn.ReLU(),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers)
    watch = stopwatch.StopWatch(args)
    for epoch in watch.epochs():
        for x, y in watch.batches(loader):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()


if __name__ == "__main__":
    main()
