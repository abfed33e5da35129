"""Times h5py: opens with the line they stand on and what is looked up by name in what was opened, closes, and reads."""

import os
import sys

from . import settings
from .loop import add_site
from .timed import wrap
from .wire import text


def patch(h5py):
    file, dataset = getattr(h5py, "File", None), getattr(h5py, "Dataset", None)
    if file is None or dataset is None:
        return
    wrap(file, "__init__", opened)
    wrap(file, "close", closed)
    wrap(dataset, "__getitem__", read)
    wrap(dataset, "read_direct", read)
    group = getattr(h5py, "Group", None)
    if group is not None:
        wrap(group, "__getitem__", looked_up)


def opened(work, took, args, result):
    name = args[1] if len(args) > 1 else ""
    path = isinstance(name, (str, bytes, os.PathLike))
    if not path and not hasattr(name, "read"):
        return  # another object for a file that is open already
    work.open_time += took
    if not getattr(args[0], "id", None):
        return  # it could not be opened
    work.opens += 1
    work.opened = True
    frame = settings.nearest(sys._getframe(2))
    if frame is not None:
        what = os.fsdecode(name) if path else type(name).__name__
        if path and "://" not in what:
            what = os.path.abspath(what)
        add_site(work.sites, "open", text(what), settings.place(frame), took)


def looked_up(work, took, args, result):
    """A dataset found by its name reads the file's tables: after each open anew, so it is part of what an open costs. In a file that stays open it is not."""
    if work.opened:
        work.open_time += took


def closed(work, took, args, result):
    work.open_time += took
    work.opened = False


def read(work, took, args, result):
    work.reads += 1
    work.read_time += took
