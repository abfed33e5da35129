"""JPEG decoding on all cores.

Planted: as many workers as cores and one more, all of them decoding; the step is much shorter than a batch takes even
on all cores. More workers cannot help.
Cure: a cheaper decode: smaller pictures on disk, a faster decoder, decoding ahead of time.
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
    pictures.folder(folder, 240, 640, 480, ".jpg")


class Pictures(Dataset):
    def __init__(self, folder):
        self.items = pictures.listing(folder)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB").resize((128, 128), Image.BICUBIC))
        return torch.from_numpy(pixels.transpose(2, 0, 1).astype(np.float32) / 255), label


def train_step(x, y, seconds):
    gpu.step(seconds)


def main():
    args = stopwatch.arguments(__doc__, workers=len(os.sched_getaffinity(0)) + 1, batch_size=16, step=0.015)
    data = Pictures(stopwatch.dataset(args, make))
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    watch = stopwatch.StopWatch(args)
    for epoch in watch.epochs():
        for x, y in watch.batches(loader):
            train_step(x, y, args.step)


if __name__ == "__main__":
    main()
