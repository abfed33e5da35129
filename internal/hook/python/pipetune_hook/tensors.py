"""Methods of Tensor that wait for the GPU, timed where the person asked for it: --sync-points."""

from functools import update_wrapper
from time import monotonic_ns as clock
from types import MethodType

from . import state
from .alarm import foreign
from .device import waited
from .guise import untraced

METHODS = ("item", "cpu", "tolist", "to", "nonzero", "__bool__", "__float__", "__int__")
process = state.process
local = state.local


def patch(torch):
    overridden = getattr(torch._C, "_has_torch_function_unary", None)
    if overridden is None:
        return
    untraced(Timed.__call__)
    for name in METHODS:
        original = getattr(torch.Tensor, name)
        if type(original) is not Timed:
            setattr(torch.Tensor, name, Timed(torch.Tensor, name, original, overridden))


class Timed:
    """A method of Tensor that waits for the GPU where the tensor is there.

    PyTorch hands it to the __torch_function__ of subclasses, which look it up among methods that they noted when they
    were imported, before the hook came, or compare it with what is Tensor's now: it equals the one and is the other.
    """

    def __init__(self, holder, name, original, overridden):
        update_wrapper(self, original)
        self.holder = holder
        self.name = name
        self.original = original
        self.overridden = overridden  # says whether a __torch_function__ of the job's would be called

    def __get__(self, tensor, owner=None):
        return self if tensor is None else MethodType(self, tensor)

    def __eq__(self, other):
        return self is other or self.original == other

    def __hash__(self):
        return hash(self.original)

    def __reduce__(self):
        return getattr, (self.holder, self.name)

    def __repr__(self):
        return repr(self.original)

    def __getattr__(self, name):
        if name == "original":
            raise AttributeError(name)  # of a copy that was not filled yet
        return getattr(self.original, name)

    def __call__(self, *args, **kwargs):
        original = self.original
        off = process.device is None or not process.on or local.inside
        if off or not args or self.overridden(args[0]) or not on_gpu(args[0]):
            # A __torch_function__ comes here again where it goes on to the method itself.
            return original(*args, **kwargs)
        begun = clock()
        result = original(*args, **kwargs)
        try:
            if self.name != "to" or not on_gpu(result):
                waited("Tensor." + self.name, clock() - begun)
        except Exception as error:
            state.failed(error)
        return result


def on_gpu(tensor):
    try:
        return tensor.is_cuda
    except Exception as error:
        if foreign(error):
            raise
        return False  # a kind of tensor that is nowhere
