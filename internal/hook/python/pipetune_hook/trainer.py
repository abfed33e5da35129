"""Wraps the DataLoader: its construction, the making of its iterators, and each __next__."""

import sys
from _thread import get_ident
from functools import wraps
from time import monotonic_ns as clock

from . import device as gpu
from . import loop as loops
from . import numbers, settings, state, work, worker
from .loop import reference_to
from .numbers import KEY

process = state.process
here = state.here
by_dataset = {}  # id of a dataset: (reference, whether it is to the loader, settings of the newest loader that the person made over it)
MOST = 256  # entries of by_dataset


def patch(data):
    """Wraps what torch.utils.data holds."""
    loader, iterator = data.DataLoader, data.dataloader._BaseDataLoaderIter
    loader.__init__ = constructing(loader.__init__)
    loader.__iter__ = iterating(loader.__iter__)
    loader._get_iterator = iterating(loader._get_iterator)
    iterator.__next__ = stepping(iterator.__next__, sys.modules["torch"])
    work.patch(data)
    worker.patch(data)
    if here():
        state.tell(clock())


def constructing(original):
    @wraps(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        try:
            if here():
                constructed(self, original, args, kwargs, sys._getframe(1))
        except Exception as error:
            state.failed(error)

    return __init__


def constructed(loader, original, args, kwargs, frame):
    made = settings.now(loader)
    dataset = loader.__dict__.get("dataset")
    items = settings.items(dataset)
    if items is not None:
        made["items"] = items
    made["given"] = settings.given(original, args, kwargs)
    frame = settings.nearest(frame)
    package = by_package(sys._getframe(2))
    earlier = earlier_over(dataset)
    if package and earlier is not None:
        # A trainer library makes the person's loader anew: the call that counts is the person's.
        for key in ("file", "line", "function", "given"):
            made[key] = earlier.get(key)
    elif package and reference_to(dataset) is None:
        pass  # the person may have made an earlier loader over it that is gone: the library's caller would be the wrong line, so none is told
    elif frame is not None:
        made["file"], made["line"], made["function"] = settings.place(frame)
        remember(loader, dataset, made)
    numbers.constructed(loader, made)


def remember(loader, dataset, made):
    """Keeps what is known of a loader for those that are made anew over its dataset. An address alone would not do: the next object may get it."""
    reference = reference_to(dataset)
    by_loader = reference is None
    if by_loader:
        reference = reference_to(loader)
    if len(by_dataset) > MOST:
        by_dataset.clear()
    if reference is not None:
        by_dataset[id(dataset)] = (reference, by_loader, made)


def earlier_over(dataset):
    """The settings of an earlier loader over this very dataset; one that has no weak references is known as long as that loader lives."""
    known = by_dataset.get(id(dataset))
    if known is None:
        return None
    reference, by_loader, made = known
    alive = reference()
    if by_loader and alive is not None:
        alive = alive.__dict__.get("dataset")
    return made if alive is dataset and alive is not None else None


def by_package(frame):
    """Says whether the construction comes from an installed package, subclasses' own constructors left out."""
    while frame is not None and frame.f_code.co_name == "__init__" and settings.kind_of(frame.f_code.co_filename) != 0:
        frame = frame.f_back
    return frame is not None and settings.kind_of(frame.f_code.co_filename) == 1


def iterating(original):
    """For __iter__ and _get_iterator, which calls the other or is called by it: the outer one counts."""

    @wraps(original)
    def make(self, *args, **kwargs):
        outer = False
        try:
            if here():
                making = process.making.setdefault(get_ident(), [])
                if not making or making[-1][0] is not self:
                    loop = numbers.loop_of(self)
                    making.append((self, loop))
                    worker.number_workers()
                    outer, begun = True, clock()
        except Exception as error:
            state.failed(error)
        if not outer:
            return original(self, *args, **kwargs)
        try:
            try:
                iterator = original(self, *args, **kwargs)
            finally:
                now = clock()
                try:
                    made_iterator()
                except Exception as error:
                    state.failed(error)
            try:
                if here():
                    attributes = getattr(iterator, "__dict__", None)
                    if attributes is not None:
                        attributes[KEY] = loops.begin(loop, self, begun, now, iterator) if loop is not None else None
            except Exception as error:
                state.failed(error)
            return iterator
        finally:
            try:
                if loop is not None:
                    numbers.release(loop)
            except Exception as error:
                state.failed(error)

    return make


def made_iterator():
    """This thread has made the innermost iterator that it was making."""
    thread = get_ident()
    making = process.making.get(thread)
    if making:
        making.pop()
    if not making:
        process.making.pop(thread, None)


def stepping(original, torch):
    gradients = torch.is_grad_enabled
    failed = state.failed

    @wraps(original)
    def __next__(self):
        epoch = self.__dict__.get(KEY)
        if epoch is None or not process.on:
            return original(self)
        device = process.device
        if device is not None and get_ident() != process.main:
            device = None  # a prefetcher's step is none of the GPU's, and an event of its own asked for may spoil the capture of a graph
        try:
            begun = clock()
            epoch.enter(begun)
            if device is not None:
                device.enter(epoch.loop)
            if begun >= process.next:
                # Within the wait, which it is part of: where batches are late, telling costs nothing, as they are being made meanwhile.
                state.tell(begun)
        except Exception as error:
            failed(error)
            return original(self)
        try:
            batch = original(self)
        except StopIteration:
            try:
                epoch.drained(begun, clock())
            except Exception as error:
                failed(error)
            raise
        try:
            epoch.count(batch, gradients())
            if device is not None:
                device.took(epoch.loop)
            elif process.look:
                gpu.begin()
            epoch.took(begun, clock())
        except Exception as error:
            failed(error)
        return batch

    __next__.__code__ = passed_over(__next__.__code__)
    return __next__


def passed_over(code):
    """The code under a file name that warnings pass over on their way up the stack, as they do the import system's (_is_internal_filename of
    warnings.py). PyTorch 2.14 puts its warning of an IterableDataset's length at the line that asked for the batch (stacklevel=2): the person's."""
    return code.replace(co_filename=code.co_filename + ", as importlib._bootstrap")
