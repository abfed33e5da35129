"""A folder of PNGs, decoded by as many workers as there are cores.

Planted: PNG, which inflates far slower than JPEG decodes; all cores are busy with it. pin_memory=True, which without a
GPU does nothing but warn.
Cure: JPEG or WebP, smaller pictures, decoding ahead of time.
"""

import os
import time

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

import pictures
import gpu
import stopwatch


def make(folder):
    pictures.folder(folder, 80, 512, 512, ".png")


class Faces(Dataset):
    def __init__(self, folder):
        self.items = pictures.listing(folder) * 10

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        with open(path, "rb") as file:
            pixels = np.array(Image.open(file).convert("RGB"))
        pixels = pixels[::4, ::4]
        return torch.from_numpy(pixels).permute(2, 0, 1).float() / 255, torch.tensor(label)


def train_step(x, y, seconds):
    gpu.step(seconds)


def main():
    args = stopwatch.arguments(__doc__, workers=os.cpu_count(), batch_size=12, step=0.02, prefetch=4)
    data = Faces(stopwatch.dataset(args, make))
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers, pin_memory=True,
                        prefetch_factor=args.prefetch, persistent_workers=True, drop_last=True)
    watch = stopwatch.StopWatch(args)
    for epoch in watch.epochs():
        for x, y in watch.batches(loader):
            train_step(x, y, args.step)


if __name__ == "__main__":
    main()
