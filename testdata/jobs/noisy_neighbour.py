"""A healthy job; what is planted runs beside it.

Two workers decode JPEGs and keep up while the cores are theirs (about 60 % of two cores). The runner starts
stress-ng beside it, at the same priority.
Cure: another machine, a CPU reservation; nothing in the job.
"""


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
            pixels = np.asarray(image.convert("RGB").resize((128, 128)))
        return torch.from_numpy(pixels.transpose(2, 0, 1).astype(np.float32) / 255), label


def train_step(x, y, seconds):
    gpu.step(seconds)


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=16, step=0.06)
    data = Pictures(stopwatch.dataset(args, make))
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    watch = stopwatch.StopWatch(args)
    for epoch in watch.epochs():
        for x, y in watch.batches(loader):
            train_step(x, y, args.step)


if __name__ == "__main__":
    main()
