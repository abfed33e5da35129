"""Times what the sampler takes to draw the indices of a batch, in the steps that are taken in full."""

from time import monotonic_ns as clock

from .look import class_module, fields

WHERE = "_sampler_iter"  # of torch's iterators


class Draws:
    """A sampler's iterator, for one step, with a clock around each draw."""

    __slots__ = ("original", "took")

    def __init__(self, original):
        self.original = original
        self.took = 0

    def __iter__(self):
        return self

    def __next__(self):
        begun = clock()
        index = next(self.original)
        self.took += clock() - begun
        return index

    def __getattr__(self, name):
        return getattr(self.original, name)


def timed(iterator):
    """Has an iterator of torch's own draw by a clock from now on; None where it is another's, which may look at what it
    draws from."""
    if class_module(type(iterator)) != "torch.utils.data.dataloader":
        return None
    own = fields(iterator)
    original = own.get(WHERE)
    if original is None:
        return None
    if type(original) is Draws:  # an interrupt came between setting it and putting back
        original = original.original
    own[WHERE] = draws = Draws(original)
    return draws


def untimed(iterator, draws):
    """Puts back what it drew from."""
    own = fields(iterator)
    if own.get(WHERE) is draws:
        own[WHERE] = draws.original
