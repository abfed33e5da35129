"""A healthy job: the loader is ahead, the step is the limit.

Nothing is planted: two workers, persistent, the file opened once per worker.
"""

import os

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

ITEMS = 6000


def make(folder):
    rng = np.random.default_rng(11)
    np.save(os.path.join(folder, "crops.npy"), rng.integers(0, 255, (ITEMS, 3, 64, 64), dtype=np.uint8))


class Crops(Dataset):
    def __init__(self, folder):
        self.crops = np.load(os.path.join(folder, "crops.npy"), mmap_mode="r")

    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        return torch.from_numpy(np.array(self.crops[index])).float() / 255, index % 10


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=32, step=0.07)
    data = Crops(stopwatch.dataset(args, make))
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
