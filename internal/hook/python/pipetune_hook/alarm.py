"""Tells the hook's own failures from what was meant for the job and only happened to strike within the hook's code.

The hook calls no code of the job's, so an error of a class that neither Python nor torch has was thrown in by another
thread, or by a signal handler. A class of Python's own that another thread throws into the hook's few microseconds
cannot be distinguished from a failure: it turns the hook off, and goes no further."""

import os
import sys

HERE = __file__.rpartition("/")[0] + "/"
STDLIB = os.path.dirname(os.__file__) + "/"
class_module = type.__dict__["__module__"].__get__
trace_of = BaseException.__dict__["__traceback__"].__get__
OPTIMIZED, VARARGS = 1, 4  # flags of code: locals in slots; *args


def frames(error):
    """The frames that an error went through, from the one that caught it to the one that raised it."""
    trace = trace_of(error)
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def alarmed(error):
    """Says whether error was raised by a signal handler of the job, which is given the frame that it interrupts."""
    interrupted = None
    for frame in frames(error):
        if interrupted is not None and given_to(frame, interrupted):
            return True
        interrupted = frame
    return False


def given_to(frame, wanted):
    """Says whether a frame is among the arguments that the function of another frame was called with."""
    code = frame.f_code
    if not code.co_flags & OPTIMIZED:
        return False
    known = frame.f_locals
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & VARARGS)]:
        value = known.get(name)
        if value is wanted or type(value) is tuple and any([each is wanted for each in value]):
            return True
    return False


def foreign(error):
    """Says whether error is none of the hook's: a signal handler's, or thrown in by another thread. Should the hook
    have called code of the job's after all, what that raised is a failure of the hook."""
    if alarmed(error):
        return True
    module = class_module(type(error))
    if type(module) is not str or module == "builtins" or module.partition(".")[0] == "torch":
        return False
    return all([of_the_hook(frame.f_code.co_filename) for frame in frames(error)])


def of_the_hook(name):
    """Says whether a file is the hook's, or one of those it calls: Python's and torch's own."""
    return name.startswith((HERE, STDLIB, "<frozen")) and "-packages/" not in name or in_torch(name)


def in_torch(name):
    file = getattr(sys.modules.get("torch"), "__file__", None)
    return type(file) is str and name.startswith(os.path.dirname(file) + "/")
