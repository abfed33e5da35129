"""Times h5py: opens with the line they stand on, closes, and reads."""

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


def opened(work, took, args, result):
    name = args[1] if len(args) > 1 else ""
    path = isinstance(name, (str, bytes, os.PathLike))
    if not path and not hasattr(name, "read"):
        return  # another object for a file that is open already
    work.open_time += took
    if not getattr(args[0], "id", None):
        return  # it could not be opened
    work.opens += 1
    frame = settings.nearest(sys._getframe(2))
    if frame is not None:
        what = os.fsdecode(name) if path else type(name).__name__
        if path and "://" not in what:
            what = os.path.abspath(what)
        add_site(work.sites, "open", text(what), settings.place(frame), took)


def closed(work, took, args, result):
    work.open_time += took


def read(work, took, args, result):
    work.reads += 1
    work.read_time += took
