"""Times calls of other libraries while a batch is being made."""

from functools import wraps
from time import monotonic_ns as clock

from . import state

process = state.process
OURS = "__pipetune__"  # marks wrappers, for a module that runs twice


def wrap(holder, name, count):
    """Replaces a function of a module or class by one that calls count(work, nanoseconds, arguments, result) after it, within a fetch; result is None where it failed."""
    original = getattr(holder, name, None)
    if original is None or getattr(original, OURS, False):
        return

    @wraps(original)
    def timed(*args, **kwargs):
        work = process.fetching
        if work is None or process.inside or not process.on:
            return original(*args, **kwargs)
        process.inside = True
        result = None
        begun = clock()
        try:
            result = original(*args, **kwargs)
        finally:
            took = clock() - begun
            process.inside = False
            try:
                count(work, took, args, result)
            except Exception as error:
                state.failed(error)
        return result

    setattr(timed, OURS, True)
    setattr(holder, name, timed)
