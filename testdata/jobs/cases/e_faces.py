"""A folder of PNG faces, more workers than CPUs, a deep queue.

The field report: 104,052 pictures in one folder, 12 workers, prefetch_factor 8, 1.1 s a batch of which the GPU needs 0.1; the disk
is blamed, because its ROTA flag is 1.
Scaled: 160 pictures of 450 x 450, gone through ten times an epoch, batches of 12, 6 workers.
Cures: pictures stored as JPEG (--format .jpg) or at the size that is used (--side 224). No cure: --set num_workers=12, --set prefetch_factor=16.
"""

import os
import sys

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import pictures
import settings
import stopwatch
import training

FACES, USED = 160, 224


class Faces(Dataset):
    def __init__(self, folder):
        self.paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))] * 10

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            face = Image.open(file).convert("RGB").resize((USED, USED), Image.BILINEAR)
        pixels = torch.from_numpy(np.array(face)).permute(2, 0, 1).float() / 255
        return pixels * (0.8 + 0.4 * torch.rand(3, 1, 1)), index % 3  # a little colour jitter


def make_faces(side, suffix):
    def make(folder):
        for number in range(FACES):
            pictures.picture(number, side, side).save(os.path.join(folder, "face_%05d%s" % (number, suffix)), **({"quality": 90} if suffix == ".jpg" else {}))
    return make


def main():
    args = stopwatch.arguments(__doc__, workers=6, batch_size=12, prefetch=8, step=0.012, side=450, format=".png")
    data = Faces(stopwatch.dataset(args, make_faces(args.side, args.format)))
    loader = DataLoader(data, **settings.chosen(args, batch_size=args.batch_size, shuffle=True, num_workers=args.workers, prefetch_factor=args.prefetch,
                                                persistent_workers=True, pin_memory=True, drop_last=True))
    training.run(args, loader)


if __name__ == "__main__":
    main()
