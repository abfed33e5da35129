"""The GPU's own time, from CUDA events around some of the steps, and the calls that wait for it. Nothing here makes the
job wait for the GPU.

Of the current stream, three moments are marked: the arrival of a batch, the end of the work queued for it, the arrival
of the next batch. Their times are asked for when the GPU has passed all three. How much longer the trainer waited for
that next batch than the GPU starved for it, it waited behind work that was still queued. It begins once a process that
goes over a loader uses its current GPU: an event on a GPU without a context makes one, hundreds of MB of it, and the
marks of a job that trains on another GPU than the current one would say nothing of it.
"""

import os
import sys
from _thread import get_ident
from time import monotonic_ns as clock

from . import settings, state
from .alarm import foreign
from .epoch import MOST_SHORT
from .guise import standing_for
from .look import class_fields
from .sites import add_site

EVERY = 50000000  # nanoseconds between two steps that are timed, on average
PACE = 1000000000  # nanoseconds after which it is reckoned anew how many steps that is
WAITING = 64  # timed steps whose events the GPU has not passed
OURS = "__pipetune__"
SYNC_POINTS = "PIPETUNE_HOOK_SYNC_POINTS"  # in the environment where methods of Tensor are to be timed as well
process = state.process
local = state.local


class Device:
    """Times some of a trainer's steps with CUDA events."""

    def __init__(self, cuda, index):
        self.cuda = cuda
        self.index = index  # of the GPU whose steps are timed; None: the current one is not in use
        self.on = True
        self.pool = []
        self.waiting = []  # (loop, arrival, end, next arrival, nanoseconds the trainer waited for that)
        self.loop = None  # whose step is being timed
        self.arrival = self.end = None
        self.asked = 0  # when the trainer began to wait for the next batch
        self.paced, self.steps = clock(), 0  # when the pace was reckoned last, and the steps since then
        self.stride = 8  # of so many steps one is timed; at first as if each took 6 ms
        self.left = 0  # steps that are not timed before the next one that is

    def mark(self):
        event = self.pool.pop() if self.pool else self.cuda.Event(enable_timing=True)
        event.record()
        return event

    def ready(self):
        """Says whether events may be recorded and asked. What was begun on another GPU than the current one is dropped:
        events of two cannot be compared. So is a step in which a graph is captured: an event would become part of it,
        and asking for one would spoil it."""
        index = in_use(self.cuda)
        if index != self.index:
            self.drop()
            self.pool, self.waiting, self.index = [], [], index
        if index is None:
            return False
        if self.cuda.is_current_stream_capturing():
            self.drop()
            return False
        return True

    def enter(self, loop):
        """A __next__ begins: the work of the step before is queued."""
        if self.loop is None or not self.on:
            return
        try:
            if self.loop is not loop:
                self.drop()  # another loader's epoch lies in this step
            elif self.ready() and self.loop is loop:
                self.end, self.asked = self.mark(), clock()
        except Exception as error:
            self.give_up(error)

    def took(self, loop, steps=1, chosen=True):
        """A batch came, the last of so many, which chance chose or not."""
        if not self.on:
            return
        try:
            ends = self.loop is loop and self.end is not None
            begins = self.chosen(steps, chosen) and (self.loop is None or ends)
            if not (ends or begins or self.waiting) or not self.ready():
                return
            if self.loop is loop and self.end is not None:
                waited = clock() - self.asked  # without what marking takes
                self.waiting.append((loop, self.arrival, self.end, self.mark(), waited))
                self.loop = self.arrival = self.end = None
            if self.loop is None and begins and len(self.waiting) < WAITING:
                self.arrival = self.mark()
                self.loop = loop
            self.collect()
        except Exception as error:
            self.give_up(error)

    def chosen(self, steps, free):
        """Whether the step that begins is to be timed. Chance decides by the count of steps and never by how long one
        took: of batches that come three at a time, each 50 ms after the one before would be the first of its three."""
        now = clock()
        self.steps += steps
        if now - self.paced >= PACE:
            self.stride = max(EVERY * self.steps // (now - self.paced), 1)
            self.paced, self.steps = now, 0
        self.left -= steps
        if self.left >= 0 or not free:
            return False
        self.left = process.drawn(2 * self.stride - 1)
        return True

    def before(self):
        """How many steps may be short before the next one that it is to see."""
        return 0 if self.loop is not None else max(self.left, 0) if self.on else MOST_SHORT

    def give_up(self, error):
        """Whatever a version of torch.cuda or the capture of a graph has against it, the rest of the hook goes on."""
        try:
            if foreign(error):
                raise error
            self.on = False
        finally:
            error = None  # as in failed()

    def drop(self):
        for event in (self.arrival, self.end):
            if event is not None:
                self.pool.append(event)
        self.loop = self.arrival = self.end = None

    def collect(self):
        """Adds up the steps whose events the GPU has passed."""
        while self.waiting and self.waiting[0][3].query():
            loop, arrival, end, following, waited = self.waiting.pop(0)
            loop.device_time += int(1e6 * max(arrival.elapsed_time(end), 0))
            loop.device_starved += int(1e6 * max(end.elapsed_time(following), 0))
            loop.device_waited += waited
            loop.device_steps += 1
            loop.changed = True
            self.pool += [arrival, end, following]


def in_use(cuda):
    """The current GPU where this process has a context on it; None where it has none, or this PyTorch cannot say so."""
    if not cuda.is_initialized():
        return None
    has_context = getattr(sys.modules["torch"]._C, "_cuda_hasPrimaryContext", None)
    if has_context is None:
        return None
    index = cuda.current_device()
    return index if has_context(index) else None


def patch(cuda):
    """Wraps a function that the job may hold from its import on, and torch.compile in its tables: at once, so that
    there is none but this one. Until begin() it is as it was."""
    waiting(cuda, "synchronize", "torch.cuda.synchronize")


def begin():
    """Called now and then by a trainer; starts once CUDA is in use. What goes wrong in torch.cuda is no reason to stop
    the rest."""
    if get_ident() != process.main:
        return  # a prefetcher, whose current GPU may be another
    process.look = False
    torch = sys.modules["torch"]
    try:
        index = in_use(torch.cuda)
        if index is None:
            return
        process.device = Device(torch.cuda, index)
    except Exception as error:
        if foreign(error):
            raise
        return
    waiting(torch.cuda, "synchronize", "torch.cuda.synchronize")  # where torch.cuda was imported last
    for kind in (torch.cuda.Stream, torch.cuda.Event):
        if type(kind) is type and "synchronize" in class_fields(kind):
            waiting(kind, "synchronize", "torch.cuda.%s.synchronize" % kind.__name__)
    if os.environ.get(SYNC_POINTS) == "1":
        from . import tensors

        tensors.patch(torch)


def waiting(holder, name, what):
    """Times a function that waits for the GPU."""
    original = getattr(holder, name, None)
    if original is None or getattr(original, OURS, False):
        return

    @standing_for(original)
    def timed(*args, **kwargs):
        if not process.on or process.device is None or local.inside:
            return original(*args, **kwargs)
        begun = clock()
        result = original(*args, **kwargs)
        try:
            waited(what, clock() - begun)
        except Exception as error:
            state.failed(error)
        return result

    setattr(timed, OURS, True)
    setattr(holder, name, timed)


def waited(what, took):
    """Books a call that waited for the GPU to the loader whose step it lies in."""
    loop = local.current
    if loop is None or local.fetching is not None:
        return
    loop.syncs += 1
    loop.sync_time += took
    loop.changed = True
    frame = settings.nearest(sys._getframe(2))
    if frame is not None:
        add_site(loop.sites, "sync", what, settings.place(frame), took)
