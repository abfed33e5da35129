"""Times calls of other libraries while a batch is being made."""

import gc
from time import monotonic_ns as clock
from types import FrameType

from . import state
from .guise import standing_for
from .look import text

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

    timed = standing_for(original)(timed)
    setattr(timed, OURS, True)
    setattr(holder, name, timed)


def wrap_unless_held(module, name, count):
    if not held(module, name):
        wrap(module, name, count)


def held(module, name):
    """Whether a module of another package, a class or an object holds a function of a module, as `from cv2 import
    imread` does that ran before PyTorch was imported. Pickle finds functions by their names: theirs would no longer
    be the one that its name means, and could not be pickled; nor would calls of theirs be timed. 13 ms at 180,000
    objects (Python 3.11)."""
    if getattr(module.__spec__, "_initializing", False):
        return False  # it is being imported, so that nobody does
    function = getattr(module, name, None)
    holders = [] if function is None else gc.get_referrers(function)
    return any([package(each) != package(vars(module)) for each in holders if type(each) is not FrameType])


def package(variables):
    """The name of the package of a module, of which these are the variables; empty for what is none."""
    return text(variables.get("__name__")).partition(".")[0] if type(variables) is dict else ""
