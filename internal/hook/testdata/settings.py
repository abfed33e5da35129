"""Makes loaders in every way there is, and goes over none but the last."""

import copy
import os
import pickle
import sys

import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, SequentialSampler, TensorDataset

DATA = TensorDataset(torch.zeros(10, 3))


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(4))


class Loud(torch.utils.data.Dataset):
    def __len__(self):
        print("somebody asked for the length")
        return 4

    def __getitem__(self, index):
        return index


class Own(DataLoader):
    """A subclass of the person's."""

    def __init__(self, data, **named):
        super().__init__(data, batch_size=5, **named)


class Trainer:
    def fit(self):
        return DataLoader(
            DATA,
            batch_size=2,
            num_workers=1,
            prefetch_factor=3,
            multiprocessing_context="spawn",
            drop_last=True,
            timeout=7,
        )


def main():
    DataLoader(DATA, 4, True)
    Trainer().fit()
    DataLoader(DATA, batch_sampler=BatchSampler(SequentialSampler(DATA), 3, False))
    DataLoader(Stream(), batch_size=None)
    DataLoader(Loud(), collate_fn=list)
    Own(DATA, num_workers=1, persistent_workers=True)
    sys.path.insert(0, os.environ["PACKAGES"])
    import library

    library.again(DataLoader(DATA, batch_size=1))
    library.fresh(Loud())
    copied = copy.copy(Own(DATA))
    assert len(copied.__dict__) == len(Own(DATA).__dict__)
    restored = pickle.loads(pickle.dumps(copied))
    print(sorted(vars(restored)) == sorted(vars(copied)), len(list(copied)), len(list(restored)))


main()
