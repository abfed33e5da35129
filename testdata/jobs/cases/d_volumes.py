"""Patches of large volumes, one worker, everything as careful as it can be set.

The field report: an A100 with 77 of its 80 GB in use, 12 vCPUs; patches of 72 x 136 x 136, batch_size 1, 1 worker that holds 7 GB,
prefetch_factor 1, started by spawn, not persistent; 18 s a step of which the GPU needs one or two.
Scaled: patches of 36 x 68 x 68, a worker that holds 100 MB, 0.1 s a step of which 0.012 is the GPU's, epochs of 50 steps.
Cures: --set num_workers=4 --set persistent_workers=True; --set multiprocessing_context=fork. No cure: --batch-size 4 --step 0.048.
"""

import os
import sys
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import settings
import stopwatch
import training

VOLUMES, DEPTH, SIDE = 3, 96, 160
PATCH = (36, 68, 68)
HELD_BYTES = 100 << 20


def make(folder):
    rng = np.random.default_rng(24)
    for volume in range(VOLUMES):
        np.save(os.path.join(folder, "volume_%d.npy" % volume), rng.integers(0, 256, (DEPTH, SIDE, SIDE)).astype(np.uint8))


class Patches(Dataset):
    """Random patches; a worker keeps large tables of its own, made with its first patch."""

    def __init__(self, folder, patches):
        self.paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
        self.patches, self.volumes, self.held = patches, None, None

    def __len__(self):
        return self.patches

    def __getitem__(self, index):
        if self.volumes is None:
            self.volumes = [np.load(path, mmap_mode="r") for path in self.paths]
            self.held = np.ones(HELD_BYTES, dtype=np.uint8)
        rng = np.random.default_rng(index)
        volume = self.volumes[index % VOLUMES]
        z, y, x = (int(rng.integers(0, whole - part)) for whole, part in zip(volume.shape, PATCH))
        time.sleep(0.055)  # the bucket the volumes really lie in
        patch = volume[z:z + PATCH[0], y:y + PATCH[1], x:x + PATCH[2]].astype(np.float32)
        stopwatch.burn(0.02)  # elastic deformation
        return torch.from_numpy(patch / 255)[None], index % 2


def main():
    args = stopwatch.arguments(__doc__, workers=1, batch_size=1, prefetch=1, step=0.012, patches=50)
    data = Patches(stopwatch.dataset(args, make), args.patches)
    loader = DataLoader(data, **settings.chosen(args, batch_size=args.batch_size, shuffle=True, num_workers=args.workers, prefetch_factor=args.prefetch,
                                                persistent_workers=False, multiprocessing_context="spawn"))
    training.run(args, loader)


if __name__ == "__main__":
    main()
