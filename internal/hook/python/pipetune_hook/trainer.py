"""Wraps the DataLoader: its construction, the making of its iterators, and each __next__."""

import sys
from _thread import get_ident
from time import monotonic_ns as clock
from time import thread_time_ns as cpu_clock

from . import device as gpu
from . import draws, lengths, numbers, settings, shards, state, work, worker
from . import epoch as epochs
from .guise import standing_for, untraced
from .look import SideTable, fields, reference_to, text

process = state.process
local = state.local
here = state.here
by_dataset = SideTable()  # of a dataset: settings of the newest loader that the person made over it
by_loader = {}  # address of a dataset that has no weak references: (that loader, settings)
MOST = 256  # entries of by_loader


def patch(data):
    """Wraps what torch.utils.data holds."""
    iterator = data.dataloader._BaseDataLoaderIter
    patch_loader(data.DataLoader)
    iterator.__init__ = beginning(iterator.__init__)
    workers = data.dataloader._MultiProcessingDataLoaderIter
    workers._reset = resetting(workers._reset)
    iterator.__next__ = stepping(iterator.__next__, sys.modules["torch"])
    work.patch(data)
    worker.patch(data._utils.worker)
    if "torch.cuda" in sys.modules:
        gpu.patch(sys.modules["torch.cuda"])
    if here():
        state.report(clock())


def patch_loader(loader):
    """Wraps a class of loaders whose iterators are torch's: DataLoader, and what replaces its methods."""
    loader.__init__ = constructing(loader.__init__)
    loader.__iter__ = iterating(loader.__iter__)
    loader._get_iterator = iterating(loader._get_iterator)


def constructing(original):
    @standing_for(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        try:
            if here() and process.parent is None:  # within a worker it is a part of what an item takes
                constructed(self, original, args, kwargs, sys._getframe(1))
        except Exception as error:
            state.failed(error)

    return __init__


def constructed(loader, original, args, kwargs, frame):
    made = settings.now(loader)
    dataset = fields(loader).get("dataset")
    items = lengths.length(dataset)
    if items is not None:
        made["items"] = items
    pieces = shards.known(dataset)
    if pieces is not None:
        made["shards"] = pieces
    made["given"] = settings.given(original, args, kwargs)
    frame = settings.nearest(frame)
    package = by_package(sys._getframe(2))
    earlier = earlier_over(dataset)
    if package and earlier is not None:
        # A trainer library makes the person's loader anew: the call that counts is the person's.
        for key in ("file", "line", "function", "given"):
            made[key] = earlier.get(key)
    elif package and reference_to(dataset) is None:
        # the person may have made an earlier loader over it that is gone: the library's caller would be the wrong line,
        # so none is reported
        pass
    elif frame is not None:
        made["file"], made["line"], made["function"] = settings.place(frame)
        remember(loader, dataset, made)
    numbers.constructed(loader, made)


def remember(loader, dataset, made):
    """Keeps what is known of a loader for those that are made anew over its dataset."""
    by_dataset.keep(dataset, made)
    if by_dataset.get(dataset) is not made:
        if len(by_loader) > MOST:
            by_loader.clear()
        by_loader[id(dataset)] = reference_to(loader), made


def earlier_over(dataset):
    """The settings of an earlier loader over this very dataset; one that has no weak references is known as long as
    that loader lives."""
    made = by_dataset.get(dataset)
    if made is None and id(dataset) in by_loader:
        reference, made = by_loader[id(dataset)]
        loader = reference() if reference is not None else None
        if loader is None or fields(loader).get("dataset") is not dataset:
            made = None
    return made


def by_package(frame):
    """Says whether the construction comes from an installed package, subclasses' own constructors left out."""
    while frame is not None and text(frame.f_code.co_name) == "__init__" and settings.whose(frame.f_code) != 0:
        frame = frame.f_back
    return frame is not None and settings.whose(frame.f_code) == 1


def iterating(original):
    """For __iter__ and _get_iterator, which calls the other or is called by it: the outer one counts."""

    @standing_for(original)
    def make(self):
        outer = local.making
        if not process.on or process.parent is not None or outer is not None and outer[0] is self:
            return original(self)
        loop, begun = None, clock()
        try:
            try:
                if here():
                    loop = numbers.loop_of(self)
                    worker.number_workers()
                    local.making, local.began, local.reset = (self, loop), 0, None
                    begun = clock()
            except Exception as error:
                state.failed(error)
            iterator = original(self)
            now = clock()
            try:
                if here():
                    process.iterators.keep(iterator, loop and began(loop, self, begun, now, iterator))
            except Exception as error:
                state.failed(error)
            return iterator
        finally:
            local.making = outer
            try:
                if loop is not None:
                    numbers.release(loop)
            except Exception as error:
                state.failed(error)

    return make


def beginning(original):
    """Times the __init__ of torch's iterators, which asks the sampler for an iterator."""

    @standing_for(original)
    def __init__(self, *args, **kwargs):
        begun = clock()
        original(self, *args, **kwargs)
        local.began = clock() - begun

    return __init__


def resetting(original):
    """Times the _reset of iterators with workers, which asks the sampler for an iterator, new workers or not, and for
    the first indices."""

    @standing_for(original)
    def _reset(self, *args, **kwargs):
        begun = clock()
        result = original(self, *args, **kwargs)
        local.reset = clock() - begun
        return result

    return _reset


def began(loop, loader, begun, now, iterator):
    loop.single = settings.gives_items(loader)
    epoch = epochs.begin(loop, loader, begun, now, iterator)
    epoch.drew(local.began, local.reset)
    if not epoch.workers:
        process.fetchers.keep(fields(iterator).get("_dataset_fetcher"), work.known(loop.number, None))
    return epoch


def stepping(original, torch):
    gradients = torch.is_grad_enabled
    failed = state.failed
    epoch_of = process.iterators.get
    lane = process.lane

    @standing_for(original)
    def __next__(self):
        epoch = lane.epoch
        if epoch is None or epoch.left <= 0 or epoch.address != id(self) or epoch.thread != get_ident():
            return in_full(self)
        begun = clock()
        if begun >= epoch.due:
            return in_full(self)
        # A short step: two clocks, a count, and what it waited.
        epoch.waiting = True
        try:
            batch = original(self)
        except StopIteration:
            try:
                epoch.drained_short(begun, clock())
            except Exception as error:
                failed(error)
            raise
        try:
            now = clock()
            epoch.left -= 1
            epoch.waited += now - begun
            epoch.last = now
            epoch.waiting = False
            if now >= epoch.due:
                epoch.late(now)
        except Exception as error:
            failed(error)
        return batch

    def in_full(self):
        epoch = epoch_of(self)
        if epoch is None or not process.on:
            return original(self)
        device = process.device
        if device is not None and get_ident() != process.main:
            # a prefetcher's step is none of the GPU's, and an event of its own asked for may spoil the capture of a
            # graph
            device = None
        try:
            begun = clock()
            epoch.enter(begun)
            if device is not None:
                device.enter(epoch.loop)
            if begun >= process.next:
                # Within the wait, which it is part of: where batches are late, reporting costs nothing, as they are
                # being made meanwhile.
                state.report(begun)
            cpu, drawing = cpu_clock(), draws.timed(self)
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
        finally:
            try:
                if drawing is not None:
                    draws.untimed(self, drawing)
            except Exception as error:
                failed(error)
        try:
            epoch.count(batch, gradients(), cpu_clock() - cpu, drawing)
            if device is not None:
                device.took(epoch.loop, epoch.passed, epoch.chosen)
                epoch.spare(device.before())
            elif process.look:
                gpu.begin()
            epoch.took(begun, clock())
            lane.epoch = epoch if process.on else None
        except Exception as error:
            failed(error)
        return batch

    in_full = untraced(in_full)
    return untraced(__next__)
