"""Looks at objects of the job without a call into their code: by exact types, and by what Python itself keeps of a
class and of an object.

isinstance() asks an object for its __class__, getattr() its __getattribute__, a dictionary its keys for hashes: all of
that may be the job's code. What is here reads C structures only."""

import weakref
from functools import partial
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MethodType

from .alarm import class_module, foreign

STRING = 512  # characters of a string
ROOM = 256  # entries after which those of objects that are gone are looked for

bases = type.__dict__["__mro__"].__get__
class_fields = type.__dict__["__dict__"].__get__
class_name = type.__dict__["__qualname__"].__get__
weak_at = type.__dict__["__weakrefoffset__"].__get__  # 0: its objects have no weak references


def text(value):
    """A string of bounded length; empty for what is none."""
    return str.__str__(value)[:STRING] if issubclass(type(value), str) else ""


def one_of(kind, kinds):
    """Says whether a class is one of some, none of which it is compared with: its own class may be the job's."""
    return any([kind is each for each in kinds])


def fields(thing):
    """The attributes that an object itself holds."""
    for each in bases(type(thing)):
        found = class_fields(each).get("__dict__")
        if type(found) is GetSetDescriptorType:  # and not a property of the job's
            own = found.__get__(thing)
            return own if type(own) is dict else {}
    return {}


def field(thing, name, default=None):
    """One attribute that an object itself holds, else what its class says under that name.

    fields() has Python make the object's dictionary where it has none yet, and keep it. Code that had adapted to the
    object without one runs slower from then on: a dataset that tokenises took 7 % more (Python 3.11)."""
    shared = of_class(type(thing), name)
    if of_class(type(shared), "__get__") is not None:
        return fields(thing).get(name, default)  # a property, or a function: what it gives is the job's code
    try:
        return object.__getattribute__(thing, name)  # finds no code of the job's either: no __getattr__
    except AttributeError as error:
        if foreign(error):
            raise
        return default


def of_class(kind, name):
    """What a class or the next of its bases holds under a name; None where none does."""
    for each in bases(kind):
        own = class_fields(each)
        if name in own:
            return own[name]
    return None


def name_of(thing):
    """Module and name of a class or function, and of anything else those of its class."""
    while type(thing) is partial:
        thing = thing.func
    if type(thing) is MethodType:
        thing = thing.__func__
    kind = type(thing)
    if kind is FunctionType:
        module, name = thing.__module__, thing.__qualname__
    elif kind is BuiltinFunctionType:
        module, name, owner = thing.__module__, thing.__name__, thing.__self__
        if module is None and owner is not None:  # a method, whose __qualname__ would ask the class of its class
            module, name = "", text(class_name(owner if issubclass(type(owner), type) else type(owner))) + "." + name
    else:
        thing = thing if issubclass(kind, type) else kind
        module, name = class_module(thing), class_name(thing)
    return text("%s.%s" % (text(module), text(name)))


def reference_to(thing):
    """A weak reference, without a callback: nothing of the hook's runs when the job lets go of the thing. None where
    its kind allows none."""
    return weakref.ref(thing) if weak_at(type(thing)) else None


class SideTable:
    """What the hook knows of objects of the job, kept beside them: they look, copy and pickle as without it. An address
    alone would not do, the next object may get it."""

    def __init__(self):
        self.known = {}  # address: (weak reference, what is known)
        self.room = ROOM

    def get(self, thing):
        known = self.known.get(id(thing))
        return known[1] if known is not None and known[0]() is thing else None

    def keep(self, thing, what):
        reference = reference_to(thing)
        if reference is not None:
            if len(self.known) >= self.room:
                self.forget()
            self.known[id(thing)] = reference, what

    def forget(self):
        for address, known in list(self.known.items()):
            if known[0]() is None and self.known.get(address) is known:
                self.known.pop(address, None)
        self.room = max(ROOM, 2 * len(self.known))

    def alive(self):
        """The objects that are still there."""
        return [thing for thing in [known[0]() for known in list(self.known.values())] if thing is not None]
