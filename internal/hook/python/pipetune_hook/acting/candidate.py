"""A loader with other settings over the same dataset, as tune tries it: gone over alone, or in the loop in place of the
job's own."""

import sys
import warnings
import weakref
from collections import deque
from time import monotonic_ns as clock

from .. import settings, trainer
from ..alarm import foreign
from ..epoch import worker_pids
from ..guise import standing_for
from ..look import fields, of_class
from .replay import Meter

DataLoader = sys.modules["torch.utils.data"].DataLoader
CHUNK = 250000000  # nanoseconds
STRING = 300  # characters of what went wrong


def describe(loader):
    """What a loader is, and why it cannot be made again with other settings; "" where it can."""
    row = {"row": "loader", "why": ""}
    if loader is None:
        row["why"] = "the loader is gone, and only its iterator is left"
        return row
    row["made"] = settings.now(loader)
    own, kind = fields(loader), type(loader)
    if (
        of_class(kind, "__iter__") is not DataLoader.__iter__
        or of_class(kind, "_get_iterator") is not DataLoader._get_iterator
    ):
        row["why"] = "it is a %s.%s, which goes over its batches in a way of its own" % (
            kind.__module__,
            kind.__qualname__,
        )
    elif "dataset" not in own:
        row["why"] = "it was never made by DataLoader.__init__"
    try:
        row["batches"] = len(loader)
    except Exception as error:
        if foreign(error):
            raise
        # Else it has no length.
    return row


def remade(loader, order):
    """A DataLoader of the same dataset, sampler, collate_fn and worker_init_fn."""
    if loader is None:
        raise LookupError("the loader is gone, and only its iterator is left")
    own, workers = fields(loader), order["num_workers"]
    named = {
        "num_workers": workers,
        "collate_fn": own["collate_fn"],
        "pin_memory": order["pin_memory"],
        "worker_init_fn": own["worker_init_fn"],
        "generator": own.get("generator"),
    }
    if "in_order" in own:
        named["in_order"] = own["in_order"]
    if workers > 0:
        named.update(
            prefetch_factor=order["prefetch_factor"],
            persistent_workers=order["persistent_workers"],
            timeout=order["patience"],
        )
        named["multiprocessing_context"] = own.get("_DataLoader__multiprocessing_context")
    sizes = own.get("batch_sampler")
    if own.get("_dataset_kind") == 1:
        named.update(batch_size=order["batch_size"] or own["batch_size"], drop_last=own["drop_last"])
    elif sizes is None:
        named.update(batch_size=None, sampler=own["sampler"])
    elif order["batch_size"] and order["batch_size"] != own["batch_size"]:
        named.update(batch_size=order["batch_size"], sampler=own["sampler"], drop_last=own["drop_last"])
    else:
        named["batch_sampler"] = sizes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of more workers than CPUs: that is to be found out
        return DataLoader(own["dataset"], **named)


class Candidate:
    """A remade loader and the iterator over it."""

    def __init__(self, agent, loader, order, original):
        self.agent, self.order, self.original = agent, order, original
        self.begun = clock()
        self.loader = remade(loader, order)
        self.iterator = self.over()

    def over(self):
        trying.on = True
        try:
            return iter(self.loader)
        finally:
            trying.on = False

    def next(self):
        """The next batch; at the end of an epoch the first of another one."""
        try:
            return self.original(self.iterator)
        except StopIteration:
            self.iterator = self.over()
            return self.original(self.iterator)

    def close(self):
        iterator, self.iterator, self.loader = self.iterator, None, None
        if hasattr(iterator, "_shutdown_workers"):
            iterator._shutdown_workers()


def why(error):
    return ("%s: %s" % (type(error).__name__, error)).strip().splitlines()[-1][:STRING]


def alone(agent, loader, order, original):
    """Goes over a candidate for so many seconds, or until it is told to stop."""
    one = None
    try:
        one = Candidate(agent, loader, order, original)
        one.next()
        agent.answer({"row": "made", "time": clock() - one.begun, "pids": worker_pids(one.iterator)[:256]})
        for _ in range(order["num_workers"]):  # which were made while the first one was
            one.next()
        end = clock() + int(order["seconds"] * 1e9)
        steps, begun, agent.stop = 0, clock(), False
        while begun < end and not agent.stop:
            one.next()
            steps += 1
            now = clock()
            if now - begun >= CHUNK:
                agent.answer({"row": "chunk", "steps": steps, "time": now - begun, "filled": True})
                steps, begun = 0, now
                agent.listen()
        agent.answer({"row": "done"})
    except Exception as error:
        agent.answer({"row": "died", "why": why(error)})
    finally:
        close(one)


def close(one):
    try:
        if one is not None:
            one.close()
    except RuntimeError:
        # torch's handler of SIGCHLD says so that a worker died, before or as it ended: that is none of the job's
        # workers
        pass
    except Exception as error:
        if foreign(error):
            raise
        # Else its workers had died before.


class Used:
    """A candidate in the loop in place of its loader; without an order, the loop's own loader, timed."""

    def __init__(self, agent, order):
        self.agent, self.order = agent, order
        self.one = self.lead = None
        self.meter = Meter(agent)

    def aside(self):
        self.meter.void = True

    def close(self):
        one, self.one = self.one, None
        close(one)

    def next(self, loop, iterator, original):
        if self.order is None or self.lead is not None and loop is not self.lead:
            self.meter.tick(loop, iterator, nothing)
            return original(iterator)
        try:
            self.meter.tick(loop, iterator, nothing)
            if self.one is None:
                self.lead = loop
                self.one = Candidate(self.agent, loader_of(iterator), self.order, original)
                self.agent.answer(
                    {"row": "made", "time": clock() - self.one.begun, "pids": worker_pids(self.one.iterator)[:256]}
                )
            return self.one.next()
        except Exception as error:
            self.agent.answer({"row": "died", "why": why(error)})
        self.agent.replace(None)
        return original(iterator)


def nothing():
    pass


class Trying:
    on = False  # a candidate's iterator is being made: it is none of the job's


trying = Trying()
# (weak reference to an iterator, its loader), of the job's newest: in `for batch in DataLoader(…)` nothing else holds
# the loader.
made = deque(maxlen=4)


def keeping(original):
    @standing_for(original)
    def __init__(self, loader):
        original(self, loader)
        if not trying.on:
            made.append((weakref.ref(self), loader))

    return __init__


def loader_of(iterator):
    for reference, loader in list(made):
        if reference() is iterator:
            return loader
    epoch = trainer.process.iterators.get(iterator)
    return epoch.loader() if epoch is not None and epoch.loader is not None else None
