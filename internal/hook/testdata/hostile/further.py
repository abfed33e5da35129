"""Further loaders of classes that make trouble: by when they are ended, by what stands in for them, by what their
class, their code or their errors are made of, and by having no end."""

import collections
import functools
import itertools
import types
import weakref
from types import FunctionType

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import DataLoader, Dataset, TensorDataset

from classes import Meta, hostile, note, silent, trouble
from ending import ITEMS, Ending, EndingData, EndingLoader, EndingSampler, EndingStream

DATA = list(range(ITEMS))
usable = {"__getattribute__": object.__getattribute__, "__class__": None}
handed = dict(usable, __reduce_ex__=lambda self, protocol: (int, (7,)))


class Lying:
    """Says that it is a tensor, when it is asked."""

    @property
    def __class__(self):
        trouble("Lying.__class__")
        return torch.Tensor

    def __reduce__(self):
        note("Lying.__reduce__")
        return int, (3,)


class Asking:
    """Has nothing, and makes trouble about each attribute that it has not."""

    def __getattr__(self, name):
        trouble("Asking.__getattr__ " + name)
        raise AttributeError(name)

    def __len__(self):
        note("Asking.__len__")
        return ITEMS

    def __getitem__(self, index):
        note("Asking.__getitem__")
        return index

    def __call__(self, items):
        note("Asking.__call__")
        return Asking()

    def __reduce__(self):
        note("Asking.__reduce__")
        return int, (4,)


class Slots:
    __slots__ = ("at",)


Slotted = hostile(
    "Slotted", Slots, __getitem__=lambda self, at: at, __len__=lambda self: ITEMS, __getitems__=None, __setattr__=None,
    **usable
)
SlottedSampler = hostile(
    "SlottedSampler", Slots, __iter__=lambda self: iter(DATA), __len__=lambda self: ITEMS, **usable
)


class Descriptor:
    """Stands in a class for a method or an attribute."""

    def __init__(self, name, value):
        self.name, self.value = name, value

    def __get__(self, thing, kind=None):
        note("Descriptor.__get__ " + self.name)
        bound = thing is not None and type(self.value) is FunctionType
        return functools.partial(self.value, thing) if bound else self.value

    def __set__(self, thing, value):
        note("Descriptor.__set__ " + self.name)
        self.value = value


class Described:
    __getitem__ = Descriptor("getitem", lambda self, index: index)
    __len__ = Descriptor("len", lambda self: ITEMS)
    files = Descriptor("files", DATA)


class Counted(Described):
    """Its length takes an attribute that is a descriptor's."""

    def __len__(self):
        note("Counted.__len__")
        return len(self.files)


class DescribedLoader(DataLoader):
    """Keeps elsewhere what the hook looks for."""

    dataset = Descriptor("dataset", None)
    batch_sampler = Descriptor("batch_sampler", None)
    sampler = Descriptor("sampler", None)


class Lately(Dataset):
    """Gives several items at once by a method that it has only when it is asked."""

    def __len__(self):
        return ITEMS

    def __getattr__(self, name):
        note("Lately.__getattr__ " + name)
        if name != "__getitems__":
            raise AttributeError(name)
        return lambda indices: [note("Lately gives") or index for index in indices]


Pair = collections.namedtuple("Pair", "left right")
Paired = hostile("Paired", Pair, __new__=None, **handed)
Ordered = hostile("Ordered", collections.OrderedDict, __setitem__=collections.OrderedDict.__setitem__, **handed)
Default = hostile("Default", collections.defaultdict, **handed)
Chain = hostile("Chain", collections.ChainMap, **handed)
Proxied = hostile("Proxied", **usable)
KEPT = [Proxied(), Described()]


class Dispatched(torch.Tensor):
    """A tensor whose operations are the job's, below what __torch_function__ sees."""

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        trouble("Dispatched.__torch_dispatch__ " + str(function))
        opened = [each.inner if type(each) is Dispatched else each for each in args]
        return function(*opened, **(kwargs or {}))

    def __repr__(self):
        return "Dispatched"


class Watching(TorchDispatchMode):
    """Sees each operation on any tensor."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        note("Watching sees " + str(function))
        return function(*args, **(kwargs or {}))


class WatchedLoader(DataLoader):
    """Is gone over within such a mode."""

    def __iter__(self):
        with Watching():
            for batch in super().__iter__():
                yield batch


class Array(numpy.ndarray):
    def __array_finalize__(self, other):
        note("Array.__array_finalize__")

    def __array_function__(self, function, types, args, kwargs):
        trouble("Array.__array_function__")
        return NotImplemented

    def __getattribute__(self, name):
        note("Array.__getattribute__ " + name)
        return numpy.ndarray.__getattribute__(self, name)


class Endless:
    """A sampler that has no end, and a length that cannot be asked for."""

    def __iter__(self):
        return itertools.cycle(DATA)

    def __len__(self):
        trouble("Endless.__len__")
        raise TypeError("endless")


class Reduced:
    """Says when it is pickled, and copied."""

    def __reduce_ex__(self, protocol):
        note("Reduced.__reduce_ex__")
        return int, (6,)

    def __getstate__(self):
        trouble("Reduced.__getstate__")

    def __deepcopy__(self, memo):
        trouble("Reduced.__deepcopy__")


class Gathering(list, metaclass=Meta):
    """A list whose class makes trouble: its methods are Python's own."""


class Partial(functools.partial):
    def __call__(self, items):
        note("Partial.__call__")
        return len(items)


def generated(items):
    note("generated")
    for item in items:
        note("one is generated")
        yield item


def looped():
    """A list and a dictionary that hold themselves and each other."""
    batch, other = [torch.zeros(2)], {}
    other["batch"], other["other"] = batch, other
    return batch + [batch, other] if batch.append(other) else batch


def deep(levels):
    batch = torch.zeros(2)
    for _ in range(levels):
        batch = [batch]
    return batch


Constant = hostile("Constant", __len__=lambda self: ITEMS, **usable)
Name = hostile("Name", str, **usable)


def constant_length():
    """A dataset whose __len__ has an object of the job's among its constants."""

    def length(self):
        return len("placeholder")

    code = length.__code__
    constants = [Constant() if each == "placeholder" else each for each in code.co_consts]
    length = FunctionType(code.replace(co_consts=tuple(constants)), globals())
    return type("Constantly", (Dataset,), {"__len__": length, "__getitem__": lambda self, index: index})()


def made_in(name, **named):
    """A loader made by code whose file has a name of a class of the job's."""
    space = {"DataLoader": DataLoader, "data": DATA, "named": named}
    exec(compile("loader = DataLoader(data, batch_size=5, **named)", Name(name), "exec"), space)
    return space["loader"]


class Ends(StopIteration):
    pass


class Mute(Exception):
    """Makes trouble when it is asked what it says."""

    def __str__(self):
        trouble("Mute.__str__")
        return "mute"

    def __init__(self, first="", second=""):
        super().__init__(first, second)

    def __setattr__(self, name, value):
        note("Mute.__setattr__ " + name)
        object.__setattr__(self, name, value)


class Long(Exception):
    """Cannot be made of a text alone, as PyTorch would."""

    def __init__(self, first, second, third):
        super().__init__(first)


silent.append(Mute)


class Failing(Dataset):
    def __init__(self, error):
        self.error = error

    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        if index == 6:
            raise self.error()
        return index


BATCHES = {
    "lying": lambda items: Lying(),
    "lying in a list": lambda items: [Lying(), torch.zeros(3)],
    "asking": lambda items: Asking(),
    "asking in a dict": lambda items: {"x": Asking()},
    "ending": lambda items: Ending("batch"),
    "ending in a list": lambda items: [Ending("part"), torch.zeros(3)],
    "generator": lambda items: generated(items),
    "a map": lambda items: map(note, ["a", "b"]),
    "named tuple's subclass": lambda items: Paired(torch.zeros(4), Lying()),
    "ordered dict's": lambda items: Ordered(),
    "default dict's": lambda items: Default(list),
    "chain's": lambda items: Chain(),
    "mapping proxy": lambda items: types.MappingProxyType({"x": Lying()}),
    "weak proxy": lambda items: weakref.proxy(KEPT[0]),
    "dead proxy": lambda items: weakref.proxy(Asking()),
    "weak proxy in a list": lambda items: [weakref.proxy(KEPT[0])],
    "dispatched": lambda items: Dispatched(torch.zeros(4, 2)),
    "dispatched in a list": lambda items: [torch.zeros(4), Dispatched(torch.zeros(4, 2))],
    "parameter": lambda items: [torch.nn.Parameter(torch.zeros(4, 2)), torch.zeros(4).to_sparse()],
    "nowhere": lambda items: torch.empty(4, device="meta"),
    "array's": lambda items: numpy.zeros((4, 2)).view(Array),
    "array of objects": lambda items: numpy.array([Lying(), Asking()], dtype=object),
    "masked array": lambda items: numpy.ma.zeros((4, 2)),
    "reduced": lambda items: [Reduced()],
    "looped": lambda items: looped(),
    "deep": lambda items: deep(300),
    "a class with a class": lambda items: Gathering([1]),
}
# What cannot get out of a worker, for which PyTorch waits until its timeout; or is made anew as it arrives, which is a
# matter of time.
ALONE = {
    "generator", "a map", "mapping proxy", "weak proxy", "dead proxy", "weak proxy in a list", "dispatched",
    "dispatched in a list", "deep", "a class with a class", "chain's", "array's", "array of objects", "nowhere",
}


def cases(workers):
    for name, collate in BATCHES.items():
        if not workers or name not in ALONE:
            yield "batch: " + name, functools.partial(DataLoader, DATA, batch_size=4, collate_fn=collate)
    gathering = Gathering()
    yield "collate: asking", lambda **named: DataLoader(DATA, batch_size=4, collate_fn=Asking(), **named)
    yield "collate: a method of C", lambda **named: DataLoader(DATA, batch_size=4, collate_fn=gathering.extend, **named)
    yield "collate: partial's", lambda **named: DataLoader(DATA, batch_size=4, collate_fn=Partial(len), **named)
    yield "dataset: slots", lambda **named: DataLoader(Slotted(), batch_size=5, **named)
    yield "dataset: weak proxy", lambda **named: DataLoader(weakref.proxy(KEPT[1]), batch_size=5, **named)
    yield "dataset: asking", lambda **named: DataLoader(Asking(), batch_size=5, **named)
    yield "dataset: described", lambda **named: DataLoader(Described(), batch_size=5, **named)
    yield "dataset: a described attribute", lambda **named: DataLoader(Counted(), batch_size=5, **named)
    yield "dataset: several, lately", lambda **named: DataLoader(Lately(), batch_size=5, **named)
    yield "dataset: constants", lambda **named: DataLoader(constant_length(), batch_size=5, **named)
    yield "dataset: ending", lambda **named: DataLoader(EndingData("dataset"), batch_size=5, collate_fn=len, **named)
    yield "dataset: an ending stream", lambda **named: DataLoader(
        EndingStream("dataset"), batch_size=2, collate_fn=len, **named
    )
    yield "worker_init_fn: asking", lambda **named: DataLoader(DATA, batch_size=5, worker_init_fn=Asking(), **named)
    yield "sampler: slots", lambda **named: DataLoader(DATA, batch_size=5, sampler=SlottedSampler(), **named)
    yield "sampler: ending", lambda **named: DataLoader(DATA, batch_size=1, sampler=EndingSampler("sampler"), **named)
    yield "sampler: endless", lambda **named: DataLoader(DATA, batch_size=2, sampler=Endless(), **named)
    yield "sampler: a generator", lambda **named: DataLoader(
        DATA, batch_sampler=generated([[1, 2], (3, 4), range(2)]), **named
    )
    yield "sampler: sets and arrays", lambda **named: DataLoader(
        DATA, batch_sampler=[{1}, {2: 3}, numpy.arange(3)], **named
    )
    yield "loader: described", lambda **named: DescribedLoader(DATA, batch_size=5, **named)
    yield "loader: ending", lambda **named: EndingLoader(DATA, batch_size=5, **named)
    yield "loader: made by a named file", lambda **named: made_in("made.py", **named)
    if not workers:
        yield "collate: generator", lambda **named: DataLoader(DATA, batch_size=4, collate_fn=generated, **named)
        yield "collate: weak proxy", lambda **named: DataLoader(
            DATA, batch_size=4, collate_fn=weakref.proxy(generated), **named
        )
        yield "loader: watched", lambda **named: WatchedLoader(TensorDataset(torch.arange(12.0)), batch_size=5, **named)
        yield "item: leaves", lambda **named: DataLoader(Failing(KeyboardInterrupt), batch_size=4, **named)
        yield "item: exits", lambda **named: DataLoader(Failing(SystemExit), batch_size=4, **named)
        yield "item: a generator's exit", lambda **named: DataLoader(Failing(GeneratorExit), batch_size=4, **named)
        yield "item: another StopIteration", lambda **named: DataLoader(Failing(Ends), batch_size=4, **named)
    for error in (StopIteration, Mute, StopAsyncIteration, KeyError):
        yield "item: " + error.__name__, functools.partial(DataLoader, Failing(error), batch_size=4)
    yield "item: of three", lambda **named: DataLoader(Failing(lambda: Long(1, 2, 3)), batch_size=4, **named)
