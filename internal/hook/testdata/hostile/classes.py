"""Classes that say whenever one of their methods is called, and make trouble then: they raise, recurse or block."""

import os
import threading
import time

import torch
from torch.utils.data import get_worker_info

# Whatever an object can be asked, but for what makes it. Of classes of other names than Python's, those that tensors,
# arrays, files and datasets have.
METHODS = """
__getattribute__ __setattr__ __delattr__ __dir__ __len__ __length_hint__ __iter__ __next__ __reversed__ __getitem__
__setitem__ __delitem__ __getitems__ __missing__ __contains__ __bool__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__
__hash__ __str__ __repr__ __format__ __bytes__ __fspath__ __int__ __index__ __float__ __complex__ __call__ __add__
__radd__ __mul__ __rmul__ __mod__ __rmod__ __and__ __or__ __neg__ __invert__ __abs__ __round__ __trunc__ __enter__
__exit__ __await__ __aiter__ __anext__ __get__ __set_name__ __instancecheck__ __subclasscheck__ __prepare__
__mro_entries__ __copy__ __deepcopy__ __reduce__ __reduce_ex__ __getstate__ __setstate__ __getnewargs__ __sizeof__
__array__ __array_interface__ __dlpack__ __buffer__ size dim numel nelement element_size values items keys get pop
append extend count read state_dict load_state_dict
""".split()
PROPERTIES = """
__class__ __dict__ __module__ __doc__ __wrapped__ __self__ __func__ __code__ __name__ __qualname__ __weakref__ shape
nbytes dtype device is_cuda data func
""".split()
TRAINER = os.getpid()
mode = "logs"
silent = []  # classes of errors that are not asked what they say
place = [None]  # where calls are noted


class Refused(Exception):
    """The job's own error."""

    def __init__(self, *args):
        super().__init__(*args)
        note("Refused was made")


class Gone(BaseException):
    """One that nobody catches who catches errors."""


def note(what):
    """Notes a call, under the process and thread that made it: of several the order is nobody's."""
    info = get_worker_info()
    thread = "" if threading.current_thread() is threading.main_thread() else " beside"
    who = "trainer" if os.getpid() == TRAINER else "some worker" if info is None else "worker %d" % info.id
    if place[0]:
        os.write(place[0], ("%s%s: %s\n" % (who, thread, what)).encode())


def trouble(what):
    note(what)
    if mode == "raises":
        raise Refused(what)
    if mode == "leaves":
        raise Gone(what)
    if mode == "recurses":
        fall(what)
    if mode == "blocks":
        time.sleep(0.0005)


def fall(what):
    fall(what)


def method(kind, name):
    def ask(self, *args, **kwargs):
        trouble("%s.%s" % (kind, name))
        return getattr(super(made[kind], self), name)(*args, **kwargs)

    return ask


def prop(kind, name):
    def ask(self):
        trouble("%s.%s" % (kind, name))
        if name == "__class__":
            return made[kind]
        return getattr(super(made[kind], self), name)

    return property(ask)


made = {}  # name: class


def hostile(kind, base=object, metaclass=type, **needed):
    """A class with every method there is; those that are needed for anything to work at all are given, and are noted
    too."""
    space = {"__slots__": ()} if base is tuple or "__slots__" in vars(base) else {}
    for name in METHODS:
        space[name] = method(kind, name)
    for name in PROPERTIES:
        if name not in ("__dict__", "__weakref__", "__module__", "__doc__", "__qualname__") or base is object:
            space[name] = prop(kind, name)
    space.pop("__qualname__", None)
    for name in ("__set_name__", "__prepare__", "__mro_entries__", "__subclasscheck__"):
        space.pop(name, None)
    for name, function in needed.items():
        if function is None:
            space.pop(name, None)
        else:
            space[name] = noted(kind, name, function)
    made[kind] = metaclass(kind, (base,), space)
    return made[kind]


def noted(kind, name, function):
    def ask(self, *args, **kwargs):
        note("%s.%s%s, needed" % (kind, name, args[:1] if name == "__getattribute__" else ""))
        return function(self, *args, **kwargs)

    return ask


class Meta(type):
    """A class whose class makes trouble: its name, its module, its bases, and what is an instance of it."""

    def __getattribute__(cls, name):
        trouble("Meta.__getattribute__ " + name)
        return super().__getattribute__(name)

    def __instancecheck__(cls, other):
        trouble("Meta.__instancecheck__")
        return super().__instancecheck__(other)

    def __subclasscheck__(cls, other):
        trouble("Meta.__subclasscheck__")
        return super().__subclasscheck__(other)

    def __eq__(cls, other):
        trouble("Meta.__eq__")
        return cls is other

    def __hash__(cls):
        trouble("Meta.__hash__")
        return id(cls)

    def __len__(cls):
        trouble("Meta.__len__")
        return 0

    @property
    def __module__(cls):
        trouble("Meta.__module__")
        return "nowhere"


class Tensor(torch.Tensor):
    """A tensor that notes what it is asked, whichever way."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        trouble("Tensor.__torch_function__ " + getattr(function, "__name__", "?"))
        return super().__torch_function__(function, types, args, kwargs or {})


for asked in ("size", "dim", "numel", "nelement", "element_size", "__len__", "__bool__", "__iter__"):
    def own(self, *args, asked=asked):
        trouble("Tensor." + asked)
        return getattr(super(Tensor, self), asked)(*args)

    setattr(Tensor, asked, own)
