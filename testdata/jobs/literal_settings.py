"""A loader whose settings stand in the source as literals: one worker, items that wait for an object store.

Planted: num_workers=1 where each item waits 4 ms for its bytes; a batch takes one worker four times as long as the step.
Cure: more workers, which the report offers as a patch of this file.
"""

import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training


class Objects(Dataset):
    def __len__(self):
        return 6000

    def __getitem__(self, index):
        time.sleep(0.004)  # the object store
        signal = np.sin(np.arange(2048) * index).astype(np.float32)
        return torch.from_numpy(signal), index % 10


def main():
    args = stopwatch.arguments(__doc__, batch_size=32, step=0.035)
    stopwatch.dataset(args, lambda folder: None)
    loader = DataLoader(
        Objects(),
        batch_size=args.batch_size,
        shuffle=True,
        num_workers=1,  # as in the tutorial
        persistent_workers=True,
    )
    training.run(args, loader)


if __name__ == "__main__":
    main()
