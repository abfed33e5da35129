"""A batch once more: its containers new, its tensors the same or copied."""

import copy
import sys
from collections import UserDict

torch = sys.modules["torch"]
DEEPEST = 8
PLAIN = {str, bytes, int, float, bool, complex, type(None), torch.dtype, torch.device, torch.Size}


def again(batch):
    """The same tensors in other containers: a loop may pop from a dict, or put what it has moved to the GPU in its
    place."""
    return remade(batch, lambda tensor: tensor, copy.copy, 0)


def copied(batch):
    """Other tensors too."""
    return remade(batch, lambda tensor: tensor.detach().clone(), copy.deepcopy, 0)


def remade(value, leaf, other, depth):
    kind = type(value)
    if kind in PLAIN or depth > DEEPEST:
        return value
    if isinstance(value, torch.Tensor):
        return leaf(value)
    deeper = depth + 1
    if kind is list or kind is tuple:
        return kind([remade(each, leaf, other, deeper) for each in value])
    if kind is dict:
        return {key: remade(each, leaf, other, deeper) for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(kind, "_make"):
        return kind._make([remade(each, leaf, other, deeper) for each in value])
    if isinstance(value, (dict, UserDict)):
        new = copy.copy(value)
        for key, each in list(value.items()):
            new[key] = remade(each, leaf, other, deeper)
        return new
    return other(value)


def tensors(value, depth=0):
    """The tensors of a batch, as far as its containers show them."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth <= DEEPEST:
        if isinstance(value, (dict, UserDict)):
            value = value.values()
        elif not isinstance(value, (list, tuple)):
            return
        for each in value:
            for tensor in tensors(each, depth + 1):
                yield tensor


def size(batch):
    """Bytes of a batch's tensors, and how many there are."""
    found = list(tensors(batch))
    return sum([tensor.nelement() * tensor.element_size() for tensor in found]), len(found)
