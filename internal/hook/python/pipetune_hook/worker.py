"""A worker of a loader: whose it is, and what it reports before it goes idle or ends."""

import select
import sys
import weakref
from functools import wraps
from time import monotonic_ns as clock

from . import state, work
from .alarm import HERE
from .guise import standing_for
from .look import fields

KEY = "_pipetune_loader"  # in the configuration of a process: the number of the loader it works for
# Milliseconds that a worker waits for its next batch before it reports what it did. From outside a poll of less than a
# second does not look like a worker that waits for work (queuePollMillis of package sampler).
IDLE = 1000
process = state.process
local = state.local
here = state.here


class Config(dict):
    """The configuration of this process. Each process that it begins, in whichever way, gets a copy, which is made in
    the thread that begins it: with the number of the loader whose iterator that thread makes. Several threads may make
    iterators at once."""

    def copy(self):
        copied = dict(self)
        try:
            copied.pop(KEY, None)
            if here() and local.making is not None and local.making[1] is not None:
                copied[KEY] = local.making[1].number
        except Exception as error:
            state.failed(error)
        return copied


def number_workers():
    """Lets the processes that are begun by this one know the loader they work for."""
    own = fields(sys.modules["multiprocessing.process"].current_process())
    if type(own.get("_config")) is dict:
        own["_config"] = Config(own["_config"])


def patch(module):
    """Wraps the module that holds what workers run, torch's or what replaces it."""
    module._worker_loop = working(module._worker_loop)
    module.ExceptionWrapper = wrapping(module.ExceptionWrapper)


def working(original):
    @standing_for(original)
    def _worker_loop(*args, **kwargs):
        try:
            # The iterators of PyTorch have finalizers that end their workers, or wait for them, and a worker that was
            # forked finds those that were about. One in a cycle is finalized when the collector comes by, which may be
            # as the hook makes its messages. Held for good, none ever is, whoever makes objects.
            process.inherited = process.iterators.alive()
            if here():
                worker_began(args)
        except Exception as error:
            state.failed(error)
        try:
            return original(*args, **kwargs)
        finally:
            try:
                if here():
                    state.report_at_exit()
            except Exception as error:
                state.failed(error)

    return _worker_loop


def worker_began(args):
    number = fields(sys.modules["multiprocessing.process"].current_process()).get("_config", {}).get(KEY)
    if number is None:
        return
    process.number = number
    process.parent = state.begun_by()
    process.greeted = False
    local.work = work.known(number, process.parent)
    watch_queue(args[2], local.work)
    state.report(clock())


def watch_queue(queue, work):
    """Tells the totals once the worker has been idle for a while: it may be ended while it waits."""
    if type(queue) is not sys.modules["multiprocessing"].queues.Queue:
        return  # of the job's own
    original = type(queue).get
    known = weakref.ref(queue)
    poll = select.poll()
    poll.register(queue._reader.fileno(), select.POLLIN)

    def get(*args, **kwargs):
        try:
            if work.changed and process.on and not poll.poll(patience(args, kwargs)):
                state.report(clock())
        except Exception as error:
            state.failed(error)
        return original(known(), *args, **kwargs)

    queue.get = get


def patience(args, kwargs):
    """How many milliseconds to wait for the queue before the original is asked: none, unless the caller waits longer
    itself, as torch's worker loop does."""
    timeout = kwargs.get("timeout") if not args and len(kwargs) == 1 else None
    return IDLE if type(timeout) in (float, int) and timeout * 1000 > IDLE else 0


def wrapping(original):
    """An exception from a worker carries its traceback as text: without the lines of the hook."""

    @wraps(original, updated=())
    def wrap(exc_info=None, where="in background"):
        if exc_info is None:
            exc_info = sys.exc_info()
        try:
            exc_info = (exc_info[0], exc_info[1], stripped(exc_info[2]))
        except Exception as error:
            state.failed(error)
        return original(exc_info, where)

    return wrap


def stripped(trace):
    kept = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(HERE):
            kept.append(trace)
        trace = trace.tb_next
    for at, each in enumerate(kept):
        each.tb_next = kept[at + 1] if at + 1 < len(kept) else None
    return kept[0] if kept else None
