"""The size of a batch: bytes of its tensors, and samples as the first axis of the first of them."""

import sys
from collections import UserDict

from .alarm import alarmed

DEEPEST = 6
MOST = 512  # things looked at in one batch
# What a kind of tensor without sizes raises, nested ones among them: its size is not known.
UNKNOWN = (RuntimeError, NotImplementedError, AttributeError, TypeError, ValueError, IndexError)

Tensor = sys.modules["torch"].Tensor


def parts(batch):
    """What a batch is made of, where it is a container that can be looked into without running anybody's code."""
    if isinstance(batch, (list, tuple)):
        return batch
    if isinstance(batch, dict):
        return dict.values(batch)
    if isinstance(batch, UserDict):
        data = batch.__dict__.get("data")
        return dict.values(data) if isinstance(data, dict) else ()
    return ()


def samples(batch):
    """Samples in a batch; 0: not known."""
    try:
        kind = type(batch)
        first = batch[0] if kind is list or kind is tuple else batch
        if type(first) is Tensor:
            return first.size(0)
        return first_axis(batch, 0)
    except UNKNOWN as error:
        if alarmed(error):
            raise
        return 0


def first_axis(batch, depth):
    if isinstance(batch, Tensor):
        return batch.size(0) if batch.dim() else 0
    if type(batch).__module__ == "numpy":
        shape = getattr(batch, "shape", ())
        return int(shape[0]) if shape else 0
    if depth < DEEPEST:
        left = 4
        for part in parts(batch):
            found = first_axis(part, depth + 1)
            if found:
                return found
            left -= 1
            if not left:
                break
    return 0


def size(batch):
    """Bytes of the tensors and arrays of a batch; 0: not known."""
    total, seen, level = 0, 0, [batch]
    try:
        for _ in range(DEEPEST):
            below = []
            for each in level:
                seen += 1
                if seen > MOST:
                    return total
                if isinstance(each, Tensor):
                    total += each.nelement() * each.element_size()
                elif type(each).__module__ == "numpy":
                    total += int(getattr(each, "nbytes", 0))
                else:
                    below.extend(parts(each))
            level = below
    except UNKNOWN as error:
        if alarmed(error):
            raise
        return 0
    return total
