"""Wraps torchdata's nodes, which are no DataLoader: what their Loader is waited for is reported, and where it is made.
The processes and threads that its nodes start are none of a DataLoader's; of what they do nothing is reported."""

import sys

from .trainer import constructing, iterating, stepping


def patch(module):
    """Wraps the Loader and its iterator, once the module has run."""
    own = vars(module)
    if "LoaderIterator" in own:
        loader, iterator = own["Loader"], own["LoaderIterator"]
        loader.__init__ = constructing(loader.__init__)
        loader.__iter__ = iterating(loader.__iter__)
        iterator.__next__ = stepping(iterator.__next__, sys.modules["torch"])
