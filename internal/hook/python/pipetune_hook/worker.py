"""A worker of a loader: whose it is, and what it tells before it goes idle or ends."""

import select
import sys
import weakref
from functools import wraps
from time import monotonic_ns as clock

from . import state
from .work import being_made

KEY = "_pipetune_loader"  # in the configuration of a process: the number of the loader it works for
process = state.process
here = state.here


class Config(dict):
    """The configuration of this process. Each process that it begins, in whichever way, gets a copy, which is made in the thread that begins it: with the
    number of the loader whose iterator that thread makes. Several threads may make iterators at once."""

    def copy(self):
        copied = dict(self)
        try:
            copied.pop(KEY, None)
            loop = being_made() if here() else None
            if loop is not None:
                copied[KEY] = loop.number
        except Exception as error:
            state.failed(error)
        return copied


def number_workers():
    """Lets the processes that are begun by this one know the loader they work for."""
    current = sys.modules["multiprocessing.process"].current_process()
    if type(current._config) is not Config:
        current._config = Config(current._config)


def patch(data):
    module = data._utils.worker
    module._worker_loop = working(module._worker_loop)
    module.ExceptionWrapper = wrapping(module.ExceptionWrapper)


def working(original):
    @wraps(original)
    def _worker_loop(*args, **kwargs):
        collecting = state.pause_collector()
        try:
            if here():
                worker_began(args)
        except Exception as error:
            state.failed(error)
        finally:
            state.resume_collector(collecting)
        try:
            return original(*args, **kwargs)
        finally:
            try:
                if here():
                    state.tell_at_last()
            except Exception as error:
                state.failed(error)

    return _worker_loop


def worker_began(args):
    number = sys.modules["multiprocessing.process"].current_process()._config.get(KEY)
    if number is None:
        return
    process.number = number
    process.parent = state.begun_by()
    process.greeted = False
    watch_queue(args[2])
    state.tell(clock())


def watch_queue(queue):
    """Tells the totals before the worker goes idle: it may be ended while it waits."""
    original = getattr(type(queue), "get", None)
    reader = getattr(queue, "_reader", None)
    if original is None or reader is None:
        return
    known = weakref.ref(queue)
    poll = select.poll()
    poll.register(reader.fileno(), select.POLLIN)

    def get(*args, **kwargs):
        try:
            if process.on and any([work.changed for work in process.works.values()]) and not poll.poll(0):
                now = clock()
                if state.due(now):
                    state.tell(now)
        except Exception as error:
            state.failed(error)
        return original(known(), *args, **kwargs)

    queue.get = get


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
        if not trace.tb_frame.f_code.co_filename.startswith(state.HERE):
            kept.append(trace)
        trace = trace.tb_next
    for at, each in enumerate(kept):
        each.tb_next = kept[at + 1] if at + 1 < len(kept) else None
    return kept[0] if kept else None
