"""The size of a batch: bytes of its tensors, of which types, and how many have a sample each; and samples as the first
axis of the first of them. Only what torch and numpy themselves made is asked; what is of another class, a subclass of
theirs too, is of unknown size."""

import sys
from collections import UserDict

from .alarm import foreign
from .look import bases, field, one_of

DEEPEST = 6
MOST = 512  # things looked at in one batch
# What a kind of tensor without sizes raises, nested ones among them: its size is not known.
UNKNOWN = (RuntimeError, NotImplementedError, AttributeError, TypeError, ValueError, IndexError)
SOME = slice(0, MOST)

torch = sys.modules["torch"]
Tensor = torch.Tensor
# what size() returns
SIZES = "batch_bytes", "batch_all_tensors", "batch_tensors", "batch_float32", "batch_float64"
FLOAT32, FLOAT64 = torch.float32, torch.float64
NUMBERS = int, float, bool
PICTURE = 3  # axes of one, in a batch or alone
# That would see each call; before PyTorch 1.13 there are none.
modes = getattr(torch._C, "_len_torch_function_stack", int)
tracing = getattr(torch._C, "_get_tracing_state", bool)  # of torch.jit.trace, which would record each call
# Within it none sees a call; before PyTorch 2.0, whose name for subclasses alone says so, it is for these only.
Hidden = torch._C.DisableTorchFunction if hasattr(torch._C, "DisableTorchFunctionSubclass") else None


def parts(batch):
    """What a batch is made of, where it is a container, as that keeps it: its own methods are not called."""
    kind = type(batch)
    if issubclass(kind, list):
        return list.__getitem__(batch, SOME)
    if issubclass(kind, tuple):
        return tuple.__getitem__(batch, SOME)
    if one_of(UserDict, bases(kind)):  # which is abstract: issubclass() would ask the class for its hash
        batch = field(batch, "data")
    return list(dict.values(batch)) if issubclass(type(batch), dict) else ()


def samples(batch):
    """Samples in a batch; 0: not known."""
    kind = type(batch)
    try:
        if tracing():
            return 0
        if modes():
            return unseen(first_axis, batch, 0)
        first = batch[0] if kind is list or kind is tuple else batch
        return first.size(0) if type(first) is Tensor else first_axis(batch, 0)
    except UNKNOWN as error:
        if foreign(error):
            raise
        return 0


def alone(batch):
    """Says whether an item is one sample, and no batch that the dataset keeps: a tensor with but numbers beside it."""
    kind = type(batch)
    if kind is not list and kind is not tuple or len(batch) < 2 or type(batch[0]) is not Tensor:
        return False
    try:
        if tracing() or modes():
            return False
        return all(type(each) in NUMBERS or type(each) is Tensor and not each.dim() for each in batch[1:MOST])
    except UNKNOWN as error:
        if foreign(error):
            raise
        return False


def unseen(ask, *args):
    """Asks tensors while a mode of the job's would see it."""
    if Hidden is None:
        return 0
    with Hidden():
        return ask(*args)


def array(kind):
    """Says whether a class is numpy's array."""
    return kind is getattr(sys.modules.get("numpy"), "ndarray", None)


def first_axis(batch, depth):
    kind = type(batch)
    if kind is Tensor:
        return batch.size(0) if batch.dim() else 0
    if array(kind):
        return batch.shape[0] if batch.shape else 0
    if depth < DEEPEST:
        for part in parts(batch)[:4]:
            found = first_axis(part, depth + 1)
            if found:
                return found
    return 0


def size(batch, count):
    """Bytes of the tensors and arrays of a batch of count samples, its tensors, those in lists of one entry a sample,
    bytes of those in float32 that may be pictures, and of those in float64; None: not known."""
    try:
        if tracing():
            return None
        found = unseen(size_of, batch, count) if modes() else size_of(batch, count)
        return found if found and found[0] else None
    except UNKNOWN as error:
        if foreign(error):
            raise
        return None


def size_of(batch, count):
    total = tensors = listed = float32 = float64 = seen = 0
    level = [(batch, False)]
    for _ in range(DEEPEST):
        below = []
        for each, inside in level:
            seen += 1
            if seen > MOST:
                return total, tensors, listed, float32, float64
            kind = type(each)
            if kind is Tensor:
                taken = each.nelement() * each.element_size()
                total += taken
                tensors += 1
                listed += inside
                if each.dtype is FLOAT32 and each.dim() >= PICTURE:
                    float32 += taken
                elif each.dtype is FLOAT64:
                    float64 += taken
            elif array(kind):
                total += each.nbytes
            elif one_of(Tensor, bases(kind)):
                return None  # its size is not known, and so is that of all
            else:
                held = parts(each)
                inside = inside or count > 1 and (kind is list or kind is tuple) and len(held) == min(count, MOST)
                below += [(part, inside) for part in held]
        level = below
    return total, tensors, listed, float32, float64
