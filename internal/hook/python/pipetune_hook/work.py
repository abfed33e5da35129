"""Times the making of batches, in a worker or in a trainer without any: items and collate_fn apart."""

import sys
from functools import partial
from time import monotonic_ns as clock
from time import thread_time_ns

from . import state
from .batch import samples
from .guise import standing_for, untraced
from .look import fields
from .loop import LISTED
from .sites import site_messages, with_sites

SLOWEST = 8
SHORT = 1000000  # nanoseconds of a batch below which its items are timed, and its CPU time asked for, now and then only
SKIPPED = 63  # short batches between two that are timed in full
STALE = 100000000  # nanoseconds after one timed in full from which on the next one is
process = state.process
local = state.local


class Work:
    """What this process did to make batches of one loader."""

    def __init__(self, number, parent):
        self.number = number
        self.parent = parent  # the process whose loader it is; None: this one
        self.changed = False
        self.reported_at = 0  # when its totals were reported last
        self.fetches = self.items = 0
        self.fetch_time = self.fetch_cpu = self.item_time = self.collate = 0
        self.opens = self.open_time = self.reads = self.read_time = self.decodes = self.decode_time = 0
        self.values = self.decoded_pixels = 0  # of the pictures decoded, and of the last of them
        self.loaded = None  # the id of that one until it is converted
        self.opened_pictures = {}  # by their id, the oldest first
        self.rows = self.row_time = self.archive_time = self.resize_time = 0
        self.opened = False  # a file was opened since the batch was begun, and none closed after it
        # of the batch being made: when its last item was ready, and the nanoseconds it took to put it together
        self.mark = self.collated = 0
        self.skip = 0  # batches to go until one is timed in full
        self.due = 0  # when the next one is
        self.parts = 0, 0, 0, 0  # of the last one: nanoseconds, those of its items, CPU time, and to put it together
        self.batched = False  # those are made of lists of indices; else each is an item
        self.short = []  # nanoseconds of those since the last that was
        self.times = []
        self.slow = {}  # index: [summed nanoseconds, times measured]
        self.floor = 0  # nanoseconds that an item must take to be among the slowest
        self.sites = {}

    def fetched(self, begun, cpu, done):
        """A batch was made, or could not be; cpu is None where it was not timed in full. Returns how long it took."""
        now = clock()
        took = now - begun
        self.fetch_time += took
        if cpu is not None:
            self.parts = took, self.mark - begun, min(thread_time_ns() - cpu, took), self.collated
            self.divide(took)
        if done:
            self.fetches += 1
            self.times.append(took // 1000)
        if len(self.times) > 2 * LISTED:
            del self.times[:-LISTED]
        self.opened = False
        self.changed = True
        if self.parent is not None and now >= process.next:
            state.report(now)
        return took

    def fold(self):
        """Books the short batches, of which other threads may add more meanwhile."""
        count = len(self.short)
        if not count:
            return
        took = self.short[:count]
        del self.short[:count]
        self.fetches += count
        self.fetch_time += sum(took)
        self.divide(sum([min(each, SHORT) for each in took]))
        self.times += [each // 1000 for each in took]

    def timed(self):
        """What calls of other libraries took."""
        read = self.open_time + self.read_time + self.row_time + self.archive_time
        return read + self.decode_time + self.resize_time

    def divide(self, took):
        """Books the parts of so much time, which is divided as that of the last batch timed in full."""
        whole, items, cpu, collated = self.parts
        if whole > 0:
            self.item_time += took * items // whole
            self.fetch_cpu += took * cpu // whole
            self.collate += took * collated // whole

    def slow_item(self, index, took):
        """Keeps an item that is among the slowest, or was: its mean counts. The first of all loads what all need."""
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
        self.fold()
        body = {
            "fetches": self.fetches,
            "items": self.items,
            "fetch_time": self.fetch_time,
            "fetch_cpu": self.fetch_cpu,
            "item_time": self.item_time,
            "collate": self.collate,
            "opens": self.opens,
            "open_time": self.open_time,
            "reads": self.reads,
            "read_time": self.read_time,
            "decodes": self.decodes,
            "decode_time": self.decode_time,
            "decoded_values": self.values,
            "rows": self.rows,
            "row_time": self.row_time,
            "archive_time": self.archive_time,
            "resize_time": self.resize_time,
        }
        if self.times:
            body["times"] = self.times[-LISTED:]
        if self.slow:
            slow = sorted(self.slow, key=self.mean, reverse=True)
            body["slow"] = [[index, self.mean(index) // 1000, self.slow[index][1]] for index in slow]
        return with_sites(self.sites, dict(self.head(), work=body), partial(self.reported, now))

    def head(self):
        head = {"kind": "work", "loader": self.number}
        if self.parent is not None:
            head["parent"] = self.parent
        return head

    def site_messages(self):
        return site_messages(self.sites, self.head())

    def reported(self, now):
        self.reported_at = now
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
    of_trainers = process.fetchers.known
    failed = state.failed

    @standing_for(original)
    def fetch(self, possibly_batched_index):
        own = of_trainers.get(id(self))
        work = own[1] if own is not None and own[0]() is self else local.work
        if work is None or not process.on or local.fetching is not None:
            return original(self, possibly_batched_index)
        batched = work.batched
        if work.skip <= 0 or type(self) is not kind or batched and type(possibly_batched_index) is not list:
            return in_full(self, possibly_batched_index, work)
        # A short batch: two clocks, and how many items it has.
        items = len(possibly_batched_index) if batched else 1
        try:
            local.fetching = work
            begun = clock()
            batch = original(self, possibly_batched_index)
        finally:
            local.fetching = None
        try:
            now = clock()
            work.short.append(now - begun)
            work.items += items
            work.skip = work.skip - 1 if now - begun < SHORT and now < work.due else 0
            work.opened = False
            work.changed = True
            if work.parent is not None and now >= process.next:
                state.report(now)
        except Exception as error:
            failed(error)
        return batch

    def in_full(self, index, work):
        fetcher, cpu, done = self, None, False
        try:
            work.fold()
            own = fields(self)
            exact, before = type(self) is kind, work.items
            items = counted(own, index) if exact else 0
            work.batched = own.get("auto_collation") is True
            if exact:
                fetcher, work.collated = timed(self, work), 0
                cpu = thread_time_ns()
            work.mark = begun = clock()
        except Exception as error:
            failed(error)
            return original(self, index)
        try:
            local.fetching = work
            batch = original(fetcher, index)
            done = True
            return batch
        finally:
            local.fetching = None
            try:
                if fetcher is not self:
                    take_over(self, fetcher)
                if done and work.items == before:
                    work.items += items
                took = work.fetched(begun, cpu, done)
                work.skip, work.due = SKIPPED if items and took < SHORT else 0, begun + took + STALE
            except Exception as error:
                failed(error)

    in_full = untraced(in_full)
    return fetch


def counted(own, index):
    """How many items a batch has, by its index; 0: that is none of Python's own, or the dataset gives what it likes."""
    if "dataset_iter" in own:
        return 0
    if own.get("auto_collation") is not True:
        return 1
    kind = type(index)
    return len(index) if kind is list or kind is tuple or kind is range else 0


def timed(fetcher, work):
    """A fetcher for one fetch, with clocks around what it calls. The job's own stays as it is, whoever looks at it."""
    twin = object.__new__(type(fetcher))
    own = fields(twin)
    own.update(fields(fetcher))
    if "dataset_iter" in own:
        kind = Iterator if own.get("auto_collation") is True else Batches
        own["dataset_iter"] = kind(own["dataset_iter"], work)
    else:
        own["dataset"] = Items(own["dataset"], work)
    own["collate_fn"] = collating(own["collate_fn"], work)
    return twin


def take_over(fetcher, twin):
    """A fetch of an iterable dataset notes that it came to the end."""
    ended = fields(twin).get("ended")
    if ended is not None:
        fields(fetcher)["ended"] = ended


def collating(original, work):
    def collate(items):
        try:
            begun, before = clock(), work.timed()
            work.mark = begun
        except Exception as error:
            state.failed(error)
            return original(items)
        batch = original(items)
        try:
            work.collated = clock() - begun - (work.timed() - before)
        except Exception as error:
            state.failed(error)
        return batch

    return collate


class Iterator:
    """An iterable dataset's iterator, for one fetch, with a clock behind each item."""

    __slots__ = ("original", "work")

    def __init__(self, original, work):
        self.original = original
        self.work = work

    def __iter__(self):
        return self

    def __next__(self):
        work = self.work
        try:
            item = next(self.original)
        finally:
            work.mark = clock()
        work.items += 1
        return item


class Batches(Iterator):
    """That of a dataset which makes its batches itself: each counts as the samples it holds, where that is known."""

    __slots__ = ()

    def __next__(self):
        batch = Iterator.__next__(self)
        try:
            self.work.items += max(samples(batch), 1) - 1
        except Exception as error:
            state.failed(error)
        return batch


class Items:
    """A dataset, for one fetch, with a clock behind each item: one item's end is the next one's begin."""

    __slots__ = ("original", "work")

    def __init__(self, original, work):
        self.original = original
        self.work = work

    def __getitem__(self, index):
        item = self.original[index]
        work = self.work
        now = clock()
        took = now - work.mark
        work.mark = now
        work.items += 1
        if took > work.floor or type(index) is int and index in work.slow:
            try:
                work.slow_item(index, took)
            except Exception as error:
                state.failed(error)
        return item

    def __getattr__(self, name):
        return getattr(self.original, name)
