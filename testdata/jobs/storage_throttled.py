"""Random reads out of one large file on slow storage.

Planted: the runner puts the job into a cgroup that throttles reads, and drops the file's pages first; 64 KiB per item
are read with pread, each item once, so the page cache never helps. The CPUs idle.
Cure: faster or local storage, larger sequential reads.
"""

import os

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

ITEMS, ITEM_BYTES = 8192, 64 << 10


def make(folder):
    rng = np.random.default_rng(4)
    block = rng.bytes(ITEM_BYTES * 64)
    with open(os.path.join(folder, "tokens.bin"), "wb") as file:
        for first in range(0, ITEMS, 64):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())  # dirty pages cannot be dropped


class Tokens(Dataset):
    def __init__(self, folder):
        self.path = os.path.join(folder, "tokens.bin")
        self.fd = None

    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        if self.fd is None:
            self.fd = os.open(self.path, os.O_RDONLY)
        item = os.pread(self.fd, ITEM_BYTES, index * ITEM_BYTES)
        return torch.from_numpy(np.frombuffer(item, np.uint16).astype(np.int64))


def main():
    args = stopwatch.arguments(__doc__, workers=4, batch_size=8, step=0.02)
    data = Tokens(stopwatch.dataset(args, make))
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
