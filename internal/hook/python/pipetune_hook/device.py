"""The GPU's own time, from CUDA events around some of the steps, and the calls that wait for it. Nothing here makes the job wait for the GPU.

Of the current stream, three moments are marked: the arrival of a batch, the end of the work queued for it, the arrival of the next batch.
Their times are asked for when the GPU has passed all three. It begins once a process that goes over a loader uses its current GPU: an event on a GPU
without a context makes one, hundreds of MB of it, and the marks of a job that trains on another GPU than the current one would say nothing of it.
"""

import sys
from _thread import get_ident
from functools import update_wrapper, wraps
from time import monotonic_ns as clock
from types import MethodType

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

    def __init__(self, cuda, index):
        self.cuda = cuda
        self.index = index  # of the GPU whose steps are timed; None: the current one is not in use
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

    def ready(self):
        """Says whether an event may be recorded. What was begun on another GPU than the current one is dropped: events of two cannot be compared."""
        index = in_use(self.cuda)
        if index != self.index:
            self.drop()
            self.pool, self.waiting, self.index = [], [], index
        return index is not None

    def enter(self, loop):
        """A __next__ begins: the work of the step before is queued."""
        if self.loop is None or not self.on:
            return
        try:
            if self.loop is not loop:
                self.drop()  # another loader's epoch lies in this step
            elif self.ready() and self.loop is loop:
                self.end = self.mark()
        except Exception as error:
            self.give_up(error)

    def took(self, loop):
        """A batch came."""
        if not self.on:
            return
        try:
            if self.loop is loop and self.end is not None and self.ready() and self.end is not None:
                self.waiting.append((loop, self.arrival, self.end, self.mark()))
                self.loop = self.arrival = self.end = None
            now = clock()
            if self.loop is None and now - self.last >= EVERY and len(self.waiting) < WAITING and self.ready():
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


def in_use(cuda):
    """The current GPU where this process has a context on it; None where it has none, or this PyTorch cannot say so."""
    if not cuda.is_initialized():
        return None
    has_context = getattr(sys.modules["torch"]._C, "_cuda_hasPrimaryContext", None)
    if has_context is None:
        return None
    index = cuda.current_device()
    return index if has_context(index) else None


def begin():
    """Called now and then by a trainer; starts once CUDA is in use. What goes wrong in torch.cuda is no reason to stop the rest."""
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
        if alarmed(error):
            raise
        return
    tensor = torch.Tensor
    overridden = getattr(torch._C, "_has_torch_function_unary", None)
    if overridden is not None:
        for name in ("item", "cpu", "tolist"):
            original = getattr(tensor, name)
            if type(original) is not Timed:
                setattr(tensor, name, Timed(tensor, name, original, overridden))
    waiting(torch.cuda, "synchronize")


def waiting(holder, name):
    """Times a function that waits for the GPU."""
    original = getattr(holder, name)
    if getattr(original, OURS, False):
        return

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

    setattr(timed, OURS, True)
    setattr(holder, name, timed)


class Timed:
    """A method of Tensor that waits for the GPU where the tensor is there.

    PyTorch hands it to the __torch_function__ of subclasses, which look it up among methods that they noted when they were imported, before the
    hook came, or compare it with what is Tensor's now: it equals the one and is the other.
    """

    def __init__(self, holder, name, original, overridden):
        update_wrapper(self, original)
        self.holder = holder
        self.name = name
        self.original = original
        self.overridden = overridden  # says whether a __torch_function__ of the job's would be called

    def __get__(self, tensor, owner=None):
        return self if tensor is None else MethodType(self, tensor)

    def __eq__(self, other):
        return self is other or self.original == other

    def __hash__(self):
        return hash(self.original)

    def __reduce__(self):
        return getattr, (self.holder, self.name)

    def __repr__(self):
        return repr(self.original)

    def __getattr__(self, name):
        return getattr(self.__dict__["original"], name)

    def __call__(self, *args, **kwargs):
        original = self.original
        if process.device is None or not process.on or process.inside or not args or self.overridden(args[0]) or not on_gpu(args[0]):
            return original(*args, **kwargs)  # a __torch_function__ comes here again where it goes on to the method itself
        begun = clock()
        result = original(*args, **kwargs)
        try:
            waited("Tensor." + self.name, clock() - begun)
        except Exception as error:
            state.failed(error)
        return result


def on_gpu(tensor):
    try:
        return tensor.is_cuda
    except Exception as error:
        if alarmed(error):
            raise
        return False  # a kind of tensor that is nowhere


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
