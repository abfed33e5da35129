"""Pictures of one tar archive, which is opened for each item.

Planted: tarfile reads the headers of all 2,000 members to find one.
Cure: --keep 1, which opens the archive once in each worker.
"""

import io
import os
import tarfile

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

ITEMS, SIDE = 2000, 64


def make(folder):
    rng = np.random.default_rng(23)
    with tarfile.open(os.path.join(folder, "train.tar"), "w") as file:
        for number in range(ITEMS):
            member = tarfile.TarInfo("%05d.bin" % number)
            member.size = SIDE * SIDE * 3
            file.addfile(member, io.BytesIO(rng.bytes(member.size)))


class Members(Dataset):
    file = None

    def __init__(self, folder, keep):
        self.path = os.path.join(folder, "train.tar")
        self.keep = keep

    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        if self.keep:
            if self.file is None:
                self.file = tarfile.open(self.path)
            return self.read(self.file, index)
        with tarfile.open(self.path) as file:
            return self.read(file, index)

    def read(self, file, index):
        data = bytearray(file.extractfile("%05d.bin" % index).read())
        return torch.frombuffer(data, dtype=torch.uint8).reshape(3, SIDE, SIDE).float() / 255


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=4, step=0.04, keep=0)
    data = Members(stopwatch.dataset(args, make), args.keep)
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
