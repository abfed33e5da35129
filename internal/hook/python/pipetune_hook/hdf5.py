"""Times h5py: opens with the line they stand on and what is looked up by name in what was opened, closes, and reads."""

import os
import sys
from pathlib import PosixPath

from . import settings
from .look import class_module, name_of, one_of, text
from .sites import add_site
from .timed import wrap


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


def opened(work, took, args, result, done):
    name = args[1] if len(args) > 1 else ""
    kind = type(name)
    if text(class_module(kind)).startswith("h5py"):
        return  # another object for a file that is open already
    work.open_time += took
    if not done:
        return
    work.opens += 1
    work.opened = True
    frame = settings.nearest(sys._getframe(2))
    if frame is not None:
        path = one_of(kind, (str, bytes, PosixPath))
        what = os.fsdecode(name) if path else name_of(kind)
        if path and "://" not in what:
            what = os.path.abspath(what)
        add_site(work.sites, "open", text(what), settings.place(frame), took)


def looked_up(work, took, args, result, done):
    """A dataset found by its name reads the file's tables: after each open anew, so it is part of what an open costs.
    In a file that stays open it is not."""
    if work.opened:
        work.open_time += took


def closed(work, took, args, result, done):
    work.open_time += took
    work.opened = False


def read(work, took, args, result, done):
    work.reads += 1
    work.read_time += took
