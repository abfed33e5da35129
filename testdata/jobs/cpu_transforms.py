"""Transforms on all cores.

Planted: pictures that are ready in memory are blurred, jittered and normalised one by one in the workers, one more than there are cores;
the step is much shorter. Neither reading nor decoding is to blame.
Cure: --where batch, which leaves that to the device: a batch at a time.
"""

import os

import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training


class Pictures(Dataset):
    def __init__(self, transform):
        self.pictures = torch.randint(0, 256, (64, 3, 128, 128), dtype=torch.uint8)
        self.transform = transform

    def __len__(self):
        return 6400

    def __getitem__(self, index):
        picture = self.pictures[index % 64]
        return self.transform(picture) if self.transform else picture


def augment(picture):
    x = picture.float().div_(255)
    for _ in range(4):
        x = torch.nn.functional.avg_pool2d(x, 3, 1, 1) * (0.9 + 0.2 * torch.rand(3, 1, 1))
    return (x - x.mean()) / x.std()


def main():
    args = stopwatch.arguments(__doc__, workers=len(os.sched_getaffinity(0)) + 1, batch_size=16, step=0.005, where="item")
    loader = DataLoader(Pictures(augment if args.where == "item" else None), batch_size=args.batch_size, shuffle=True,
                        num_workers=args.workers, prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
