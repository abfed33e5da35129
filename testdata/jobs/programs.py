"""Each item is made by a program that the worker runs, as sound and video often are.

Planted: one worker, whose programs use nearly a whole CPU while it sleeps and waits for their output.
Cure: as many workers as there are CPUs for their programs, and no more; or a library in place of the program.
"""

import gzip
import os
import subprocess

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

ITEMS, BYTES = 400, 3_000_000


def make(folder):
    with gzip.open(os.path.join(folder, "clip.gz"), "wb", compresslevel=6) as file:
        file.write(np.random.default_rng(3).integers(0, 9, BYTES, dtype=np.uint8).tobytes())


class Clips(Dataset):
    def __init__(self, folder):
        self.command = ["gzip", "-dc", os.path.join(folder, "clip.gz")]

    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        clip = subprocess.run(self.command, stdout=subprocess.PIPE, check=True).stdout
        return torch.frombuffer(bytearray(clip), dtype=torch.uint8)[:1_000_000], index % 2


def main():
    args = stopwatch.arguments(__doc__, workers=1, batch_size=4, step=0.01)
    loader = DataLoader(Clips(stopwatch.dataset(args, make)), batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
