"""A small real training job with a planted fault: the HDF5 file is opened anew for every item.

Run by `pipetune demo`. Makes its dataset in the folder given, prints "training" when the first batch has arrived, and trains until it
is ended.
"""
import os
import sys
import time

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

ITEMS, SHAPE, GROUPS = 4096, (32, 128), 64


def make_dataset(path):
    """4,096 items of 16 KiB in 64 groups, as an archive of recordings would be laid out."""
    rng = np.random.default_rng(1)
    with h5py.File(path, "w") as f:
        for g in range(GROUPS):
            f.create_dataset(f"recording_{g:03d}/mel", data=rng.standard_normal((ITEMS // GROUPS, *SHAPE), dtype=np.float32))


class Items(Dataset):
    def __init__(self, path):
        self.path = path

    def __len__(self):
        return ITEMS

    def __getitem__(self, i):
        with h5py.File(self.path, "r") as f:  # the planted fault
            x = f[f"recording_{i % GROUPS:03d}/mel"][i // GROUPS]
        return torch.from_numpy(x), i % 10


def main(folder):
    path = os.path.join(folder, "demo.h5")
    make_dataset(path)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(SHAPE[0] * SHAPE[1], 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Items(path), batch_size=64, shuffle=True, num_workers=1, persistent_workers=True)
    started = False
    while True:
        for x, y in loader:
            if not started:
                print("training", flush=True)
                started = True
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.004)  # plays the accelerator's part of the step


if __name__ == "__main__":
    main(sys.argv[1])
