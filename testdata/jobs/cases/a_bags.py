"""Bags of features: one HDF5 file per slide, a bag of its own length in each, one bag per batch.

The field report: sixteen workers that are made anew with each epoch, each item opens its slide's file (for the features,
and once more for the label), prefetch_factor 2, a collate_fn that joins pieces with torch.cat and torch.stack, batch_size 1.
Scaled: 2 workers, 128 slides of 128 to 1,023 patches of 128 features, an epoch of about a second; --slides takes fewer.
Cures: --set persistent_workers=True; --opens kept; --collate whole.
"""

import os
import sys

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import settings
import stopwatch
import training

SLIDES, SHORTEST, LONGEST, FEATURES = 128, 128, 1024, 128
PIECE = 1  # patches that the planted collate_fn joins at a time


def make(folder):
    rng = np.random.default_rng(21)
    for slide in range(SLIDES):
        patches = int(rng.integers(SHORTEST, LONGEST))
        with h5py.File(os.path.join(folder, "slide_%03d.h5" % slide), "w") as file:
            file.create_dataset("features", data=rng.standard_normal((patches, FEATURES), dtype=np.float32))
            file.create_dataset("coords", data=rng.integers(0, 100000, (patches, 2)))
            file.attrs["label"] = slide % 2


class Bags(Dataset):
    """A slide's bag, its coordinates and its label."""

    def __init__(self, folder, keep, slides):
        self.paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))[:slides]]
        self.keep, self.files = keep, {}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        path = self.paths[index]
        if self.keep:
            if path not in self.files:
                self.files[path] = h5py.File(path, "r")
            file = self.files[path]
            features, coords, label = file["features"][:], file["coords"][:], int(file.attrs["label"])
        else:
            with h5py.File(path, "r") as file:
                features, coords = file["features"][:], file["coords"][:]
            with h5py.File(path, "r") as file:
                label = int(file.attrs["label"])
        stopwatch.burn(0.001)  # instance dropout and normalisation
        return torch.from_numpy(features), torch.from_numpy(coords), label


def join_pieces(samples):
    """Pads bags to the longest there may be: piece by piece, each time copying all that is there yet."""
    bags = []
    for features, _, _ in samples:
        bag = torch.zeros((0, FEATURES))
        for first in range(0, len(features), PIECE):
            bag = torch.cat([bag, features[first:first + PIECE]])
        bags.append(torch.cat([bag, torch.zeros((LONGEST - len(bag), FEATURES))]))
    return torch.stack(bags), torch.tensor([label for _, _, label in samples])


def fill_whole(samples):
    """Pads bags to the longest there may be: one allocation, one copy of each bag."""
    bags = torch.zeros((len(samples), LONGEST, FEATURES))
    for row, (features, _, _) in enumerate(samples):
        bags[row, :len(features)] = features
    return bags, torch.tensor([label for _, _, label in samples])


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=1, step=0.002, opens="each", collate="pieces", slides=SLIDES)
    data = Bags(stopwatch.dataset(args, make), args.opens == "kept", args.slides)
    loader = DataLoader(data, **settings.chosen(args, batch_size=args.batch_size, shuffle=True, num_workers=args.workers, prefetch_factor=args.prefetch,
                                                collate_fn=join_pieces if args.collate == "pieces" else fill_whole))
    training.run(args, loader)


if __name__ == "__main__":
    main()
