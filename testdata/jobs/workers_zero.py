"""num_workers left at its default of 0.

Planted: the training loop itself reads and decodes each JPEG between two steps, while the other cores idle.
Cure: num_workers >= 2.
"""


import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

import pictures
import gpu
import settings
import stopwatch


def make(folder):
    pictures.folder(folder, 400, 320, 240, ".jpg")


class Pictures(Dataset):
    def __init__(self, folder):
        self.items = pictures.listing(folder)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB").resize((160, 160)))
        return torch.from_numpy(pixels.transpose(2, 0, 1).astype(np.float32) / 255), label


def train_step(x, y, seconds):
    gpu.step(seconds)


def main():
    args = stopwatch.arguments(__doc__, workers=0, batch_size=16, step=0.03)
    data = Pictures(stopwatch.dataset(args, make))
    loader = DataLoader(data, **settings.chosen(
        args, batch_size=args.batch_size, shuffle=True, num_workers=args.workers))
    watch = stopwatch.StopWatch(args)
    for epoch in watch.epochs():
        for x, y in watch.batches(loader):
            train_step(x, y, args.step)


if __name__ == "__main__":
    main()
