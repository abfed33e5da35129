"""Times calls of other libraries while a batch is being made."""

from time import monotonic_ns as clock

from . import state
from .guise import passed_over, standing_for

process = state.process
local = state.local
OURS = "__pipetune__"  # marks wrappers, for a module that runs twice


def wrap(holder, name, count, around=False):
    """Replaces a function of a module or class by one that calls count(work, nanoseconds, arguments, result, whether it
    came to one) after it, within a fetch. What else is timed while it runs counts as that where it goes around others,
    else as its own."""
    original = getattr(holder, name, None)
    if original is None or getattr(original, OURS, False):
        return

    def timed(*args, **kwargs):
        work = local.fetching
        if work is None or local.inside or not process.on:
            return original(*args, **kwargs)
        result, done = None, False
        try:
            begun, before = clock(), work.timed()
        except Exception as error:
            state.failed(error)
            return original(*args, **kwargs)
        try:
            local.inside = not around
            result = original(*args, **kwargs)
            done = True
        finally:
            local.inside = False
            try:
                count(work, clock() - begun - (work.timed() - before), args, result, done)
            except Exception as error:
                state.failed(error)
        return result

    timed.__code__ = passed_over(timed.__code__)
    timed = standing_for(original)(timed)
    setattr(timed, OURS, True)
    setattr(holder, name, timed)
