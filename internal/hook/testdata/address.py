"""Loaders that a library makes over datasets of which some have the address that another dataset had before it."""

import os
import sys

import torch
from torch.utils.data import DataLoader

sys.path.insert(0, os.environ["PACKAGES"])
import library


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index


class Slotted:
    """A dataset that has no weak references."""

    __slots__ = ("items",)

    def __init__(self):
        self.items = None

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index


def again_there(kind):
    """A dataset at the address of one that was freed just now. Python may have given that to something else first, so several tries are made."""
    for _ in range(100):
        address, kept = made_once(kind), []
        while len(kept) < 1000:
            kept.append(kind())
            if id(kept[-1]) == address:
                return kept.pop()
    sys.exit("no dataset got the address again")


def made_once(kind):
    """Makes and drops a dataset with its loader, and returns its address."""
    data = kind()
    loader = DataLoader(data, batch_size=2)  # dropped
    del loader
    return id(data)


def main():
    for kind in (Data, Slotted):
        again = again_there(kind)
        library.fresh(again)  # at a freed address
        loader = DataLoader(again, batch_size=3)  # kept
        library.again(loader)
        if kind is Slotted:
            del loader
            library.fresh(again)
    print("made")


main()
