"""A healthy job with large batches, 19 MiB each; what is planted is around it.

Planted: 2 workers x prefetch 2 nearly fill the 128 MiB tmpfs that the runner mounts on /dev/shm (64 MiB is what Docker
gives). It keeps up, but one more worker, or a deeper prefetch_factor, ends it with a bus error.
Cure: a larger /dev/shm, before anything else is raised.
Where /dev/shm has room nothing is planted, not with --batch-size 64 --step 0.5 either: large batches are no fault.
"""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training


class Frames(Dataset):
    def __init__(self, items=1600):
        self.items = items
        self.pool = torch.from_numpy(np.random.default_rng(10).standard_normal((8, 3, 224, 224), dtype=np.float32))

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        return self.pool[index % len(self.pool)], index % 5


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=32, step=0.15)
    loader = DataLoader(Frames(), batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
