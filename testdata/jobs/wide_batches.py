"""Pictures of 8 bits handed over as float32.

Planted: uncompressed pictures, in memory, are converted to float32 in __getitem__, so that collate_fn writes four times the
bytes into shared memory that the pictures have.
Cure: --dtype uint8, and the conversion once the batch is on the GPU.
"""

import io

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

import pictures
import stopwatch
import training

SIDE = 256


class Pictures(Dataset):
    def __init__(self, dtype):
        self.files = []
        self.dtype = getattr(torch, dtype)
        for number in range(16):
            file = io.BytesIO()
            pictures.picture(number, SIDE, SIDE).save(file, "BMP")
            self.files.append(file.getvalue())

    def __len__(self):
        return 3200

    def __getitem__(self, index):
        pixels = np.asarray(Image.open(io.BytesIO(self.files[index % len(self.files)])))
        return torch.from_numpy(pixels.transpose(2, 0, 1).copy()).to(self.dtype), index % 4


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=32, step=0.005, dtype="float32")
    loader = DataLoader(Pictures(args.dtype), batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
