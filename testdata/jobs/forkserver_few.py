"""One worker under the forkserver start method, on a machine with idle cores.

Planted: num_workers=1. The worker's parent is the fork server, not the trainer. Batches are dictionaries of three
tensors.
Cure: more workers.
"""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import settings
import stopwatch
import training


class Series(Dataset):
    def __init__(self, length=3000):
        rng = np.random.default_rng(15)
        self.values = rng.standard_normal((length, 1024), dtype=np.float32)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        values = torch.from_numpy(self.values[index])
        stopwatch.burn(0.002)
        return {"past": values[:768], "future": values[768:], "series": torch.tensor(index)}


def main():
    args = stopwatch.arguments(__doc__, workers=1, batch_size=24, step=0.02, prefetch=4)
    loader = DataLoader(Series(), **settings.chosen(
        args, batch_size=args.batch_size, shuffle=True, num_workers=args.workers, prefetch_factor=args.prefetch,
        persistent_workers=True, multiprocessing_context="forkserver"))
    training.run(args, loader)


if __name__ == "__main__":
    main()
