"""One small file per item on slow storage.

Planted: 20 KiB .npy files, each opened, read and closed, their pages cold, in a cgroup that throttles reads.
Cure: pack the items into few large files.
"""

import os

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

ITEMS, FOLDERS = 9000, 30


def make(folder):
    rng = np.random.default_rng(5)
    item = rng.standard_normal(5000, dtype=np.float32)
    for number in range(FOLDERS):
        os.makedirs(os.path.join(folder, "%03d" % number))
    for number in range(ITEMS):
        np.save(os.path.join(folder, "%03d" % (number % FOLDERS), "%06d.npy" % number), item)
    os.sync()  # dirty pages cannot be dropped


class Features(Dataset):
    def __init__(self, folder):
        self.paths = [os.path.join(folder, "%03d" % (number % FOLDERS), "%06d.npy" % number) for number in range(ITEMS)]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return torch.from_numpy(np.load(self.paths[index]))


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=16, step=0.03)
    data = Features(stopwatch.dataset(args, make))
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
