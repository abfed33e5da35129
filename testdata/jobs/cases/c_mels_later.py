"""Mel segments again, later: read whole from a slow file system, few workers, a deep queue, a step that is soon over.

The field report: batches of 5,632 segments, 4 workers, prefetch_factor 8, GPU 11 % busy, 8 GB of its memory in use; its cures are
batches of 8,192, 8 workers and prefetch_factor 16, and a table of batch sizes by card.
Scaled: batches of 64, 1 worker, segments that take 0.75 ms to arrive and 0.2 ms of a CPU, a step of 7 ms.
Cure: --set num_workers=6. No cure: --set prefetch_factor=16, --batch-size 96 --step 0.0105.
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

SEGMENTS, BANDS, FRAMES = 25600, 64, 64


class Segments(Dataset):
    """Segments of a file system that answers late."""

    def __init__(self, arrives, computes):
        self.kept = np.random.default_rng(23).standard_normal((64, BANDS, FRAMES), dtype=np.float32)
        self.arrives, self.computes = arrives, computes

    def __len__(self):
        return SEGMENTS

    def __getitem__(self, index):
        time.sleep(self.arrives)
        stopwatch.burn(self.computes)  # augmentation
        return torch.from_numpy(self.kept[index % 64]), index % 5


def main():
    args = stopwatch.arguments(__doc__, workers=1, batch_size=64, prefetch=8, step=0.007, arrives=0.00075, computes=0.0002)
    stopwatch.dataset(args, lambda folder: None)
    loader = DataLoader(Segments(args.arrives, args.computes), **settings.chosen(
        args, batch_size=args.batch_size, shuffle=True, num_workers=args.workers, prefetch_factor=args.prefetch, persistent_workers=True, pin_memory=True))
    training.run(args, loader)


if __name__ == "__main__":
    main()
