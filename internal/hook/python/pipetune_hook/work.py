"""Times the making of batches, in a worker or in a trainer without any: items and collate_fn apart."""

from _thread import get_ident
from functools import partial, wraps
from time import monotonic_ns as clock
from time import thread_time_ns

from . import state
from .alarm import alarmed
from .loop import LISTED, site_messages, with_sites

KEY = "_pipetune_loader"  # of a fetcher: the Work it does, what it calls and that with clocks
SLOWEST = 8
SHORT = 1000000  # nanoseconds of a batch below which its items are timed, and its CPU time asked for, now and then only
SKIPPED = 15  # short batches between two that are timed in full
process = state.process
here = state.here


class Work:
    """What this process did to make batches of one loader."""

    def __init__(self, number, parent):
        self.number = number
        self.parent = parent  # the process whose loader it is; None: this one
        self.changed = False
        self.told_at = 0  # when its totals were told last
        self.fetches = self.items = 0
        self.fetch_time = self.fetch_cpu = self.item_time = self.collate = 0
        self.opens = self.open_time = self.reads = self.read_time = self.decodes = self.decode_time = 0
        self.opened = False  # a file was opened since the batch was begun, and none closed after it
        self.mark = self.collated = 0  # of the batch being made: when its last item was ready, and the nanoseconds it took to put it together
        self.skip = 0  # batches to go until one is timed in full
        self.rough = 0  # nanoseconds of batches since the last that was
        self.times = []
        self.slow = {}  # index: [summed nanoseconds, times measured]
        self.floor = 0  # nanoseconds that an item must take to be among the slowest
        self.sites = {}

    def fetched(self, begun, cpu, done):
        """A batch was made, or could not be; cpu is None where it was not timed in full."""
        now = clock()
        took = now - begun
        self.fetch_time += took
        if cpu is not None:
            self.divided(took, self.mark - begun, min(thread_time_ns() - cpu, took))
        elif took < SHORT:
            self.rough += took
        else:
            self.rough += SHORT
            self.skip = 0
        self.opened = False
        if done:
            self.fetches += 1
            times = self.times
            times.append(took // 1000)
            if len(times) > 2 * LISTED:
                del times[:-LISTED]
        self.changed = True
        if self.parent is not None and now >= process.next:
            state.tell(now)

    def divided(self, took, items, cpu):
        """Books the parts of a batch's time, and those of the short batches before it, which were like it."""
        rough, self.rough = self.rough, 0
        if took > 0:
            cpu += rough * cpu // took
            items += rough * items // took
            self.collate += self.collated + rough * self.collated // took
        self.fetch_cpu += cpu
        self.item_time += items
        self.skip = SKIPPED if took < SHORT else 0

    def slow_item(self, index, took):
        """Keeps an item that is among the slowest, or was: its mean counts. The first one of all loads what all need."""
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
            told["times"] = self.times[-LISTED:]
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
    if type(index) is int:
        return index
    try:
        return index.__index__() if not isinstance(index, (str, bytes, tuple, list)) else None
    except (AttributeError, TypeError, ValueError, RuntimeError) as error:
        if alarmed(error):
            raise
        return None


def patch(data):
    kind = data.dataloader._DatasetKind
    kind.create_fetcher = staticmethod(creating(kind.create_fetcher))
    for fetcher in (data._utils.fetch._MapDatasetFetcher, data._utils.fetch._IterableDatasetFetcher):
        fetcher.fetch = fetching(fetcher.fetch)


def creating(original):
    @wraps(original)
    def create_fetcher(*args, **kwargs):
        fetcher = original(*args, **kwargs)
        try:
            if here():
                current = current_work()
                if current is not None:
                    instrument(fetcher, current)
        except Exception as error:
            state.failed(error)
        return fetcher

    return create_fetcher


def being_made():
    """The loop whose iterator this thread makes; None where it makes none, or that of a loader without a number."""
    making = process.making.get(get_ident())
    return making[-1][1] if making else None


def current_work():
    loop = being_made()
    if loop is not None:
        number, parent = loop.number, None
    elif process.number is not None:
        number, parent = process.number, process.parent
    else:
        return None
    known = process.works.get((number, parent))
    if known is None:
        known = process.works[(number, parent)] = Work(number, parent)
    return known


def instrument(fetcher, current):
    """Puts clocks around what a fetcher calls. The dataset itself stays as it is, for whoever else looks at it."""
    plain = timed = None
    if hasattr(fetcher, "dataset_iter"):
        fetcher.dataset_iter = Iterator(fetcher.dataset_iter, current)
        fetcher.collate_fn = collating(fetcher.collate_fn, current)
    else:
        plain = fetcher.dataset, fetcher.collate_fn
        timed = Items(fetcher.dataset, current), collating(fetcher.collate_fn, current)
    fetcher.__dict__[KEY] = (current, plain, timed)  # and not a function of the fetcher's own, which would keep it and its dataset alive


def fetching(original):
    @wraps(original)
    def fetch(self, index):
        own = self.__dict__
        known = own.get(KEY)
        if known is None or not process.on or process.fetching is not None:
            return original(self, index)
        current, plain, timed = known
        if current.skip > 0 and plain is not None and type(index) is list and own.get("auto_collation"):
            current.skip -= 1
            current.items += len(index)
            cpu = None
        else:
            plain = timed
            cpu = thread_time_ns()
            current.collated = 0
        if plain is not None and own["dataset"] is not plain[0]:
            own["dataset"], own["collate_fn"] = plain
        done = False
        current.mark = begun = clock()
        process.fetching = current
        try:
            batch = original(self, index)
            done = True
        finally:
            process.fetching = None
            try:
                current.fetched(begun, cpu, done)
            except Exception as error:
                state.failed(error)
        return batch

    return fetch


def collating(original, current):
    def collate(items):
        batch = original(items)
        if process.fetching is current:
            current.collated = clock() - current.mark
        return batch

    return collate


class Iterator:
    """An iterable dataset's iterator with a clock behind each item."""

    def __init__(self, original, current):
        self.original = original
        self.current = current

    def __iter__(self):
        return self

    def __next__(self):
        current = self.current
        if process.fetching is not current:
            return next(self.original)
        try:
            item = next(self.original)
        finally:
            current.mark = clock()
        current.items += 1
        return item

    def __getattr__(self, name):
        return getattr(self.original, name)


class Items:
    """A dataset with a clock behind each item: one item's end is the next one's begin. It has __getitems__ where the dataset has it."""

    def __init__(self, original, current):
        self.original = original
        self.current = current

    def __getitem__(self, index):
        item = self.original[index]
        current = self.current
        if process.fetching is current:
            now = clock()
            took = now - current.mark
            current.mark = now
            current.items += 1
            if took > current.floor or (type(index) is int and index in current.slow):
                try:
                    current.slow_item(index, took)
                except Exception as error:
                    state.failed(error)
        return item

    @property
    def __getitems__(self):
        function = self.original.__getitems__
        if not function:
            return function
        current = self.current

        def getitems(indices):
            items = function(indices)
            if process.fetching is current:
                current.mark = clock()
                try:
                    current.items += len(indices)
                except TypeError:
                    pass  # no list, so nobody can count it
            return items

        return getitems

    def __getattr__(self, name):
        return getattr(self.original, name)
