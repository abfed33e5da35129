"""Items from HDF5 files and pictures, by workers and without: with some slow ones, and an open per item."""

import os
import sys
import time

import h5py
import numpy
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

FOLDER = os.environ["FOLDER"]


class Reopened(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        if index in (7, 23):
            time.sleep(0.05)
        with h5py.File(os.path.join(FOLDER, "data.h5"), "r") as file:
            return torch.from_numpy(file["rows"][index])


class Pictures(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        picture = Image.open(os.path.join(FOLDER, "picture.png")).convert("L")
        return torch.from_numpy(numpy.asarray(picture).copy())


def collate(items):
    time.sleep(0.01)
    return torch.stack(items)


def main():
    with h5py.File(os.path.join(FOLDER, "data.h5"), "w") as file:
        file["rows"] = numpy.zeros((40, 16), "f4")
    Image.fromarray(numpy.random.randint(0, 255, (200, 200, 3), "u1")).save(os.path.join(FOLDER, "picture.png"))
    total = 0
    for workers in (0, 2):
        for batch in DataLoader(Reopened(), 4, num_workers=workers, collate_fn=collate):
            total += len(batch)
        for batch in DataLoader(Pictures(), 5, num_workers=workers):
            total += len(batch)
    print(total)


if __name__ == "__main__":
    main()
