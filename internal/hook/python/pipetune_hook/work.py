"""Times the making of batches, in a worker or in a trainer without any: items and collate_fn apart."""

import sys
from functools import partial
from time import monotonic_ns as clock
from time import thread_time_ns

from . import state
from .guise import standing_for
from .loop import LISTED, site_messages, with_sites

SLOWEST = 8
SHORT = 1000000  # nanoseconds of a batch below which its items are timed, and its CPU time asked for, now and then only
PAUSE = 10000000  # nanoseconds between two short batches that are timed in full
process = state.process
local = state.local


class Work:
    """What this process did to make batches of one loader."""

    __slots__ = (
        "number", "parent", "changed", "told_at", "fetches", "items", "fetch_time", "fetch_cpu", "item_time", "collate",
        "opens", "open_time", "reads", "read_time", "decodes", "decode_time", "opened", "due", "rough", "times", "slow",
        "floor", "sites",
    )

    def __init__(self, number, parent):
        self.number = number
        self.parent = parent  # the process whose loader it is; None: this one
        self.changed = False
        self.told_at = 0  # when its totals were told last
        self.fetches = self.items = 0
        self.fetch_time = self.fetch_cpu = self.item_time = self.collate = 0
        self.opens = self.open_time = self.reads = self.read_time = self.decodes = self.decode_time = 0
        self.opened = False  # a file was opened since the batch was begun, and none closed after it
        self.due = 0  # from when on a batch is timed in full
        self.rough = 0  # nanoseconds of batches since the last that was
        self.times = []  # nanoseconds of batches
        self.slow = {}  # index: [summed nanoseconds, times measured]
        self.floor = 0  # nanoseconds that an item must take to be among the slowest
        self.sites = {}

    def divided(self, full, begun, now):
        """Books the parts of a batch timed in full, and those of the batches before it that were not, which were like
        it."""
        cpu, took, before = thread_time_ns() - full.cpu, now - begun, begun
        for index, done in full.items:
            self.items += 1
            self.slow_item(index, done - before)
            before = done
        items = (full.collating or now) - begun
        rough, self.rough = self.rough, 0
        if took > 0:
            share = 1 + rough / took
            self.fetch_cpu += int(share * min(cpu, took))
            self.item_time += int(share * items)
            self.collate += int(share * full.collated)
        self.due = now + PAUSE if took < SHORT else 0

    def tell(self, now):
        """Called when a batch was made, in a worker once telling is due; the lists are kept short."""
        if len(self.times) > 2 * LISTED:
            del self.times[:-LISTED]
        if self.parent is not None and now >= process.next:
            state.tell(now)

    def slow_item(self, index, took):
        """Keeps an item that is among the slowest, or was: its mean counts. The first one of all loads what all need."""
        if took <= self.floor and not (type(index) is int and index in self.slow):
            return
        index = whole(index)
        if index is None or self.items < 2:
            return
        known = self.slow.get(index)
        if known is None:
            self.slow[index] = [took, 1]
        else:
            known[0] += took
            known[1] += 1
        while len(self.slow) > SLOWEST:
            del self.slow[min(self.slow, key=self.mean)]
        if len(self.slow) == SLOWEST:
            self.floor = min([self.mean(each) for each in self.slow])

    def mean(self, index):
        summed, times = self.slow[index]
        return summed // times

    def message(self, now):
        told = {
            "fetches": self.fetches, "items": self.items, "fetch_time": self.fetch_time, "fetch_cpu": self.fetch_cpu,
            "item_time": self.item_time, "collate": self.collate, "opens": self.opens, "open_time": self.open_time, "reads": self.reads,
            "read_time": self.read_time, "decodes": self.decodes, "decode_time": self.decode_time,
        }
        if self.times:
            told["times"] = [took // 1000 for took in self.times[-LISTED:]]
        if self.slow:
            slow = sorted(self.slow, key=self.mean, reverse=True)
            told["slow"] = [[index, self.mean(index) // 1000, self.slow[index][1]] for index in slow]
        return with_sites(self.sites, dict(self.head(), work=told), partial(self.told, now))

    def head(self):
        head = {"kind": "work", "loader": self.number}
        if self.parent is not None:
            head["parent"] = self.parent
        return head

    def site_messages(self):
        return site_messages(self.sites, self.head())

    def told(self, now):
        self.told_at = now
        self.changed = False
        self.times = []


def whole(index):
    """An index as a number; None for one of a class that is neither Python's nor numpy's."""
    if type(index) is int:
        return index
    return int(index) if type(index) is getattr(sys.modules.get("numpy"), "int64", None) else None


def patch(data):
    for kind in (data._utils.fetch._MapDatasetFetcher, data._utils.fetch._IterableDatasetFetcher):
        kind.fetch = fetching(kind.fetch, kind)


def known(number, parent):
    """The Work for a loader of this process, or of the parent that this process works for."""
    work = process.works.get((number, parent))
    if work is None:
        work = process.works[(number, parent)] = Work(number, parent)
    return work


def fetching(original, kind):
    found = process.fetchers.known.get

    @standing_for(original)
    def fetch(self, possibly_batched_index):
        known = found(id(self))
        work = local.work if known is None or known[0]() is not self else known[1]
        if work is None or not process.on or local.fetching is not None:
            return original(self, possibly_batched_index)
        fetcher, full, done, items = self, None, False, 0
        try:
            if type(self) is kind:
                items = counted(self.__dict__, possibly_batched_index)
            begun = clock()
            if (begun >= work.due or not items) and type(self) is kind:
                full = Full()
                fetcher = timed(self, full)
                begun = clock()
        except Exception as error:
            state.failed(error)
            return original(self, possibly_batched_index)
        try:
            local.fetching = work
            batch = original(fetcher, possibly_batched_index)
            done = True
            return batch
        finally:
            local.fetching = None
            try:
                now = clock()
                took = now - begun
                work.fetch_time += took
                if full is None:
                    work.rough += took if took < SHORT else SHORT
                    if took >= SHORT:
                        work.due = 0
                    if done:
                        work.items += items
                else:
                    took_over(self, fetcher)
                    if done and not full.items:
                        work.items += items
                    work.divided(full, begun, now)
                work.opened = False
                if done:
                    work.fetches += 1
                    work.times.append(took)
                work.changed = True
                if now >= process.next:
                    work.tell(now)
            except Exception as error:
                state.failed(error)

    return fetch


def counted(own, index):
    """How many items a batch has, by its index; 0: that is none of Python's own, or the dataset gives what it likes."""
    if "dataset_iter" in own:
        return 0
    if own.get("auto_collation") is not True:
        return 1
    kind = type(index)
    return len(index) if kind is list or kind is tuple or kind is range else 0


class Full:
    """The clocks of one batch that is timed in full."""

    __slots__ = ("cpu", "items", "collating", "collated")

    def __init__(self):
        self.items = []  # (index, when it was there)
        self.collating = self.collated = 0  # when collate_fn was called, and the nanoseconds it took
        self.cpu = thread_time_ns()


def timed(fetcher, full):
    """A fetcher for one fetch, with clocks around what it calls. The job's own stays as it is, whoever looks at it."""
    twin = object.__new__(type(fetcher))
    own = twin.__dict__
    own.update(fetcher.__dict__)
    if "dataset_iter" in own:
        own["dataset_iter"] = Iterator(own["dataset_iter"], full)
    else:
        own["dataset"] = Items(own["dataset"], full)
    own["collate_fn"] = collating(own["collate_fn"], full)
    return twin


def took_over(fetcher, twin):
    """A fetch of an iterable dataset notes that it came to the end."""
    if "ended" in twin.__dict__:
        fetcher.__dict__["ended"] = twin.__dict__["ended"]


def collating(original, full):
    def collate(items):
        full.collating = begun = clock()
        batch = original(items)
        full.collated = clock() - begun
        return batch

    return collate


class Iterator:
    """An iterable dataset's iterator, for one fetch, with a clock behind each item."""

    __slots__ = ("original", "full")

    def __init__(self, original, full):
        self.original = original
        self.full = full

    def __iter__(self):
        return self

    def __next__(self):
        item = next(self.original)
        self.full.items.append((None, clock()))
        return item


class Items:
    """A dataset, for one fetch, with a clock behind each item: one item's end is the next one's begin."""

    __slots__ = ("original", "done")

    def __init__(self, original, full):
        self.original = original
        self.done = full.items.append

    def __getitem__(self, index):
        item = self.original[index]
        self.done((index, clock()))
        return item

    def __getattr__(self, name):
        return getattr(self.original, name)
