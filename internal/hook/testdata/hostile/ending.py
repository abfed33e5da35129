"""Classes that say when one of them is gone: a batch, an item, a dataset, a sampler, a loader, an iterator."""

from torch.utils.data import DataLoader, Dataset, IterableDataset
from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

from classes import note, trouble

ITEMS = 12


class Ending:
    """Says when it is gone."""

    def __init__(self, what):
        self.what = what

    def __del__(self):
        trouble("gone is the %s" % self.what)

    def __reduce__(self):
        note("Ending.__reduce__")
        return int, (5,)


class EndingData(Ending, Dataset):
    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        return Ending("item")


class EndingSampler(Ending):
    def __len__(self):
        return ITEMS

    def __iter__(self):
        try:
            for index in range(ITEMS):
                note("an index is asked for")
                yield index
        finally:
            note("the sampler ends")


class EndingStream(Ending, IterableDataset):
    def __iter__(self):
        try:
            for _ in range(ITEMS):
                yield Ending("item")
        finally:
            note("the stream ends")


class EndingLoader(Ending, DataLoader):
    def __init__(self, *args, **named):
        Ending.__init__(self, "loader")
        DataLoader.__init__(self, *args, **named)

    def _get_iterator(self):
        return EndingIterator(self) if not self.num_workers else super()._get_iterator()


class EndingIterator(_SingleProcessDataLoaderIter):
    def __del__(self):
        trouble("gone is the iterator")
