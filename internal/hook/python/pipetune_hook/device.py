"""The GPU's own time, from CUDA events around some of the steps, and the calls that wait for it. Nothing here makes the job wait for the GPU.

Of the current stream, three moments are marked: the arrival of a batch, the end of the work queued for it, the arrival of the next batch.
Their times are asked for when the GPU has passed all three. It begins once a process that goes over a loader has initialised CUDA.
"""

import sys
from functools import wraps
from time import monotonic_ns as clock

from . import settings, state
from .alarm import alarmed
from .loop import add_site
from .wire import text

EVERY = 50000000  # nanoseconds between two steps that are timed
WAITING = 8  # timed steps whose events the GPU has not passed
OURS = "__pipetune__"
process = state.process


class Device:
    """Times some of a trainer's steps with CUDA events."""

    def __init__(self, cuda):
        self.cuda = cuda
        self.on = True
        self.pool = []
        self.waiting = []  # (loop, arrival, end, next arrival)
        self.loop = None  # whose step is being timed
        self.arrival = self.end = None
        self.last = 0

    def mark(self):
        event = self.pool.pop() if self.pool else self.cuda.Event(enable_timing=True)
        event.record()
        return event

    def enter(self, loop):
        """A __next__ begins: the work of the step before is queued."""
        if self.loop is None or not self.on:
            return
        try:
            if self.loop is loop:
                self.end = self.mark()
            else:
                self.drop()  # another loader's epoch lies in this step
        except Exception as error:
            self.give_up(error)

    def took(self, loop):
        """A batch came."""
        if not self.on:
            return
        try:
            if self.loop is loop and self.end is not None:
                self.waiting.append((loop, self.arrival, self.end, self.mark()))
                self.loop = self.arrival = self.end = None
            now = clock()
            if self.loop is None and now - self.last >= EVERY and len(self.waiting) < WAITING:
                self.last = now
                self.arrival = self.mark()
                self.loop = loop
            self.collect()
        except Exception as error:
            self.give_up(error)

    def give_up(self, error):
        """Whatever a version of torch.cuda or the capture of a graph has against it, the rest of the hook goes on."""
        if alarmed(error):
            raise error
        self.on = False

    def drop(self):
        for event in (self.arrival, self.end):
            if event is not None:
                self.pool.append(event)
        self.loop = self.arrival = self.end = None

    def collect(self):
        """Adds up the steps whose events the GPU has passed."""
        while self.waiting and self.waiting[0][3].query():
            loop, arrival, end, following = self.waiting.pop(0)
            loop.device_time += int(1e6 * max(arrival.elapsed_time(end), 0))
            loop.device_starved += int(1e6 * max(end.elapsed_time(following), 0))
            loop.device_steps += 1
            loop.changed = True
            self.pool += [arrival, end, following]


def begin():
    """Called now and then by a trainer; starts once CUDA is in use. What goes wrong in torch.cuda is no reason to stop the rest."""
    process.look = False
    torch = sys.modules["torch"]
    try:
        if not torch.cuda.is_initialized():
            return
        process.device = Device(torch.cuda)
    except Exception as error:
        if alarmed(error):
            raise
        return
    for name in ("item", "cpu", "tolist"):
        waiting(torch.Tensor, name)
    waiting(torch.cuda, "synchronize")


def waiting(holder, name):
    """Times a call that waits for the GPU; of a tensor's methods only where the tensor is there."""
    original = getattr(holder, name)
    if getattr(original, OURS, False):
        return

    if holder is process.device.cuda:

        @wraps(original)
        def timed(*args, **kwargs):
            if not process.on or process.device is None:
                return original(*args, **kwargs)
            begun = clock()
            result = original(*args, **kwargs)
            try:
                waited("torch.cuda." + name, clock() - begun)
            except Exception as error:
                state.failed(error)
            return result

    else:

        @wraps(original)
        def timed(self, *args, **kwargs):
            if process.device is None or process.inside or not process.on or not getattr(self, "is_cuda", False):
                return original(self, *args, **kwargs)
            process.inside = True  # a subclass of Tensor is asked again from within
            begun = clock()
            try:
                result = original(self, *args, **kwargs)
            finally:
                process.inside = False
            try:
                waited("Tensor." + name, clock() - begun)
            except Exception as error:
                state.failed(error)
            return result

    setattr(timed, OURS, True)
    setattr(holder, name, timed)


def waited(what, took):
    """Books a call that waited for the GPU to the loader whose step it lies in."""
    loop = process.current
    if loop is None or process.fetching is not None:
        return
    loop.syncs += 1
    loop.sync_time += took
    loop.changed = True
    frame = settings.nearest(sys._getframe(2))
    if frame is not None:
        add_site(loop.sites, "sync", text(what), settings.place(frame), took)
