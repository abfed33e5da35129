"""Goes over loaders of hostile classes, and prints what came of each and every call that was made on one of them: the
same with the hook and without."""

import collections
import gc
import os
import re
import sys
import tempfile
from functools import partial

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

import classes
from classes import Meta, Tensor, hostile

ITEMS = 12
MOST = 20  # batches of an epoch, where there is no end
ITSELF = object.__getattribute__
numbers = {}


def plain(self, name):
    return ITSELF(self, name)


# What pickling needs where a worker hands it over.
handed = {"__getattribute__": plain, "__class__": None, "__reduce_ex__": lambda self, protocol: (int, (7,))}

Proxy = hostile("Proxy", **handed)
Listing = hostile("Listing", list, **handed)
Tupling = hostile("Tupling", tuple, **handed)
Mapping = hostile("Mapping", dict, **handed)
wrapped = dict.fromkeys("__setattr__ __setitem__ __len__ __iter__ __getitem__ data keys".split())
Wrapping = hostile("Wrapping", collections.UserDict, **handed, **wrapped)
Texting = hostile("Texting", str, **handed)
Counting = hostile("Counting", int, **handed)
Keyed = hostile("Keyed", __hash__=lambda self: 1, **handed)
Nobody = hostile("Nobody")
Of = Meta("Of", (), {"__reduce_ex__": lambda self, protocol: (int, (8,))})
Pair = collections.namedtuple("Pair", "left right")

BATCHES = {
    "proxy": lambda items: Proxy(),
    "in a list": lambda items: [Proxy(), torch.zeros(3)],
    "in a tuple": lambda items: (Proxy(),),
    "in a dict": lambda items: {"x": Proxy()},
    "as a key": lambda items: {Keyed(): torch.zeros(2)},
    "in a named tuple": lambda items: Pair(Proxy(), Listing([1])),
    "deep": lambda items: [({"x": [Proxy(), Listing([torch.zeros(2)])]},)],
    "list": lambda items: Listing(items),
    "tuple": lambda items: Tupling(items),
    "dict": lambda items: Mapping(x=Listing(items)),
    "user dict": lambda items: Wrapping({"x": Proxy()}),
    "text": lambda items: Texting("x"),
    "number": lambda items: Counting(3),
    "tensor": lambda items: torch.zeros(4, 2).as_subclass(Tensor),
    "tensor in a list": lambda items: [torch.zeros(4, 2).as_subclass(Tensor), torch.zeros(4)],
    "metaclass": lambda items: Of(),
    "the class itself": lambda items: Of,
}
# What cannot get out of a worker where it makes trouble.
UNABLE = {"batch: tensor", "batch: tensor in a list", "batch: metaclass", "batch: the class itself"}

usable = {"__getattribute__": plain, "__class__": None}
Index = hostile("Index", **handed)
Indices = hostile("Indices", list, __iter__=list.__iter__, **dict(handed, __reduce_ex__=lambda self, _: (list, ([1, 2],))))
Sampler = hostile("Sampler", __iter__=lambda self: iter(range(ITEMS)), __len__=lambda self: ITEMS, **usable)
Objects = hostile("Objects", __iter__=lambda self: iter([Index() for _ in range(4)]), **usable)
Batches = hostile(
    "Batches", __iter__=lambda self: iter([Indices([1, 2]), (3, 4), [5]]), __len__=lambda self: 3, **usable
)
Collate = hostile("Collate", __call__=lambda self, items: len(items), __name__=None, **usable)
Data = hostile(
    "Data", Dataset, __getitem__=lambda self, index: index if type(index) is int else 0, __len__=lambda self: ITEMS,
    __getitems__=None, **usable
)
Several = hostile(
    "Several", Dataset, __getitem__=lambda self, index: 1, __len__=lambda self: ITEMS,
    __getitems__=lambda self, indices: [2 for _ in indices], **usable
)
Going = hostile("Going", __iter__=lambda self: self, __next__=lambda self: step(self), **usable)
Stream = hostile("Stream", IterableDataset, __iter__=lambda self: Going(), **usable)
Loader = hostile(
    "Loader", DataLoader, __setattr__=lambda self, name, value: DataLoader.__setattr__(self, name, value),
    __iter__=DataLoader.__iter__, __len__=DataLoader.__len__, **usable
)
Iterating = hostile(
    "Iterating", _SingleProcessDataLoaderIter, __setattr__=None, __iter__=lambda self: self,
    __next__=_SingleProcessDataLoaderIter.__next__, **usable
)


class Otherwise(DataLoader):
    """Hands out an iterator that is none of PyTorch's."""

    def _get_iterator(self):
        return Going()


class Ownwise(DataLoader):
    def _get_iterator(self):
        return Iterating(self)


class Bool:
    """What a dataset may have under the name of a method: it says when it is taken for true or false."""

    def __bool__(self):
        classes.trouble("Bool.__bool__")
        return False


class Doubting(Dataset):
    __getitems__ = Bool()

    def __len__(self):
        classes.note("Doubting.__len__")
        return ITEMS

    def __getitem__(self, index):
        return index


def step(self):
    numbers[id(self)] = numbers.get(id(self), 0) + 1
    if numbers[id(self)] > 5:
        del numbers[id(self)]
        raise StopIteration
    return numbers[id(self)]


def cases():
    for name, collate in BATCHES.items():
        yield "batch: " + name, partial(DataLoader, range(ITEMS), batch_size=4, collate_fn=collate)
    data = list(range(ITEMS))
    yield "sampler", lambda **named: DataLoader(data, batch_size=4, sampler=Sampler(), **named)
    yield "index objects", lambda **named: DataLoader(Data(), batch_size=2, sampler=Objects(), **named)
    yield "an index a batch", lambda **named: DataLoader(Data(), batch_size=None, sampler=Objects(), **named)
    yield "batch sampler", lambda **named: DataLoader(data, batch_sampler=Batches(), **named)
    yield "collate", lambda **named: DataLoader(data, batch_size=4, collate_fn=Collate(), **named)
    yield "dataset", lambda **named: DataLoader(Data(), batch_size=5, **named)
    yield "dataset of several", lambda **named: DataLoader(Several(), batch_size=5, **named)
    yield "dataset in doubt", lambda **named: DataLoader(Doubting(), batch_size=5, **named)
    yield "nobody as a dataset", lambda **named: DataLoader(Nobody(), batch_size=5, **named)
    yield "nobody with a sampler", lambda **named: DataLoader(Nobody(), batch_size=5, sampler=[1, 2, 3], **named)
    yield "nobody as a collate", lambda **named: DataLoader(data, batch_size=5, collate_fn=Nobody(), **named)
    yield "stream", lambda **named: DataLoader(Stream(), batch_size=2, **named)
    yield "stream, no batches", lambda **named: DataLoader(Stream(), batch_size=None, **named)
    yield "loader", lambda **named: Loader(data, batch_size=5, **named)
    yield "another's iterator", lambda **named: Otherwise(data, batch_size=5, **named)
    yield "own iterator", lambda **named: Ownwise(data, batch_size=5)


def go(name, make, workers):
    """One case: the batches that came, in order, how it ended, and the calls."""
    with tempfile.TemporaryFile() as file:
        classes.place[0] = file.fileno()
        named = {"num_workers": workers, "multiprocessing_context": "fork", "timeout": 12} if workers else {}
        print("==", name, workers)
        failed = False
        try:
            loader = make(**named)
            for _ in range(2):
                for number, batch in enumerate(loader):
                    classes.note("step")
                    if number == MOST:
                        break
                    kind = type(batch)
                    shown = batch if kind is int or kind is torch.Tensor else ""
                    print(type.__dict__["__qualname__"].__get__(kind), shown, end="; ")
            print()
        except BaseException as error:
            said = ""
            if type(error) not in (RecursionError, *classes.silent):
                # Of workers that ended, some or all are named.
                said = re.sub("[0-9]+(, [0-9]+)*", "n", str(error).strip().split("\n")[-1])
                # Of workers that die at once, torch names one with its status or all, by which it hears of first.
                said = re.sub(r"\(pid(\(s\))? n\) exited unexpectedly.*", "(pid n) exited unexpectedly", said)[:60]
            print(type(error).__name__, said)
            error.__traceback__ = None
            failed = True
        loader = batch = None
        gc.collect()
        gc.freeze()  # what the case imported is not gone over again for each later one
        classes.place[0] = None
        file.seek(0)
        calls = file.read().decode().splitlines()
        for who in sorted({call.partition(":")[0] for call in calls}):
            if failed and who != "trainer":
                continue  # how far it came until it was ended is a matter of time
            made = [call.partition(": ")[2] for call in calls if call.startswith(who + ":")]
            print("  ", who, sorted(made) if "beside" in who or "some" in who else made)
    sys.stdout.flush()


def main():
    classes.mode = sys.argv[1]
    sys.setrecursionlimit(400)
    if sys.argv[2:]:
        import further
    gc.freeze()  # the 175,000 objects of PyTorch, which each gc.collect() would go over
    if sys.argv[2:]:
        for workers in (0, 2):
            for name, make in further.cases(workers):
                go(name, make, workers)
        return
    for workers in (0, 2):
        for name, make in cases():
            if not workers or name not in UNABLE or "tensor" in name and classes.mode in ("logs", "blocks"):
                go(name, make, workers)


if __name__ == "__main__":
    main()
