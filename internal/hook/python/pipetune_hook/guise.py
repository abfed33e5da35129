"""Makes the hook's wrappers look like what they stand for, and keeps torch.compile out of all of the hook."""

import inspect
import sys
from functools import wraps
from types import CodeType, FunctionType

from .alarm import foreign


def standing_for(original):
    """Makes a function look like the one that it stands for, to getfullargspec too, which does not follow
    __wrapped__."""

    def dress(function):
        function = wraps(original)(function)
        try:
            function.__signature__ = inspect.signature(original)
        except (TypeError, ValueError) as error:
            if foreign(error):
                raise
            # Else it is one of C's, and has none to show.
        return untraced(function)

    return dress


def untraced(function):
    """Keeps torch.compile out of a function: neither its frame nor a call of it becomes part of a graph."""
    function._torchdynamo_disable = True
    skip(function.__code__)
    return function


def skip(code):
    """Has the frames of a code, and of the functions within it, run as they are where torch.compile would compile
    them."""
    frames = getattr(getattr(sys.modules["torch"]._C, "_dynamo", None), "eval_frame", None)
    if hasattr(frames, "skip_code"):
        frames.skip_code(code)
    elif hasattr(frames, "_FrameExecStrategy"):
        action = frames._FrameAction
        frames.set_code_exec_strategy(code, frames._FrameExecStrategy(action.SKIP, action.DEFAULT))
    for each in code.co_consts:
        if type(each) is CodeType:
            skip(each)


def skip_all(package):
    """Does so with all functions of the hook."""
    for name, module in list(sys.modules.items()):
        if name.startswith(package):
            for value in list(vars(module).values()):
                for each in vars(value).values() if type(value) is type else [value]:
                    if type(each) is FunctionType and each.__module__.startswith(package):
                        skip(each.__code__)
