"""Large JPEGs, decoded in full by as many workers as there are cores, for a training that takes 96 x 96 pixels.

Planted: 3 megapixels are decoded for an item of 0.01.
Cure: --draft, which has libjpeg decode at an eighth of the size.
"""

import os

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

import pictures
import stopwatch
import training

TAKEN = 96


def make(folder):
    pictures.folder(folder, 40, 2048, 1536, ".jpg")


class Photographs(Dataset):
    def __init__(self, folder, draft):
        self.items = pictures.listing(folder) * 20
        self.draft = draft

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        picture = Image.open(path)
        if self.draft:
            picture.draft("RGB", (2 * TAKEN, 2 * TAKEN))
        pixels = np.array(picture.convert("RGB").resize((TAKEN, TAKEN)))
        return torch.from_numpy(pixels).permute(2, 0, 1).float() / 255, torch.tensor(label)


def main():
    args = stopwatch.arguments(__doc__, workers=os.cpu_count(), batch_size=8, step=0.01, draft=0)
    data = Photographs(stopwatch.dataset(args, make), args.draft)
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True, drop_last=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
