"""Warnings for the line that asks for a batch, as PyTorch 2.14 gives one where an IterableDataset yields more than its
length, and for those that ask for an item, a collation and a loader."""

import io
import tarfile
import warnings


def listed(self):
    warnings.warn("for whoever lists an archive", stacklevel=2)
    return []


tarfile.TarFile.getmembers = listed

import torch
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

data = _SingleProcessDataLoaderIter._next_data


def warned(self):
    warnings.warn("for whoever asked", stacklevel=3)  # of __next__'s caller
    return data(self)


_SingleProcessDataLoaderIter._next_data = warned
for batch in DataLoader(TensorDataset(torch.zeros(2, 2))):
    pass
warnings.simplefilter("error")
try:
    next(iter(DataLoader(TensorDataset(torch.zeros(2, 2)))))
except UserWarning as warning:
    print("raised", warning)


class Archive(torch.utils.data.Dataset):
    def __len__(self):
        return 1

    def __getitem__(self, index):
        with tarfile.open(fileobj=io.BytesIO(bytes(10240))) as file:
            return len(file.getmembers())  # is told


warnings.simplefilter("always")
print(next(iter(DataLoader(Archive()))))


def warned_of(what):
    warnings.warn(what, stacklevel=3)


class Warning(torch.utils.data.Dataset):
    def __len__(self):
        return 1

    def __getitem__(self, index):
        warned_of("an item")
        return index


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        warned_of("a stream")
        return self

    def __next__(self):
        warned_of("the next of a stream")
        return 1


def collate(items):
    warned_of("a collation")
    return items


class Loader(DataLoader):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        warned_of("a loader")


print(list(Loader(Warning(), collate_fn=collate)))
print(next(iter(Loader(Stream(), collate_fn=collate))))
