"""Batches of NumPy arrays: nothing goes through shared memory, all of it is pickled through a pipe.

Planted: one worker, slower than the step. From outside, no shared-memory name tells how many batches went by.
Cure: more workers.
"""

import numpy as np
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training


class Windows(Dataset):
    def __init__(self, length=4000):
        self.values = np.random.default_rng(18).standard_normal((length, 512), dtype=np.float32)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        stopwatch.burn(0.002)
        return self.values[index]


def main():
    args = stopwatch.arguments(__doc__, workers=1, batch_size=32, step=0.03)
    loader = DataLoader(Windows(), batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True, collate_fn=np.stack)
    training.run(args, loader)


if __name__ == "__main__":
    main()
