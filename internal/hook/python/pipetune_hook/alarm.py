"""Tells the hook's own failures from what was meant for the job and only happened to strike within the hook's code."""

import signal


def alarmed(error):
    """Says whether error was raised by a signal handler of the job."""
    codes = set()
    for number in range(1, signal.NSIG):
        codes.add(getattr(signal.getsignal(number), "__code__", None))
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def foreign(error):
    """Says whether error is none of the hook's: a signal handler's, or thrown in by another thread."""
    return type(error).__module__ != "builtins" or alarmed(error)
