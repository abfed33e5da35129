"""How a DataLoader was made: its settings, and the line of the person's source that made it."""

import builtins
import os
import sys

from .alarm import alarmed
from .state import HERE
from .wire import text

STDLIB = os.path.dirname(os.__file__) + "/"
DEEPEST = 200  # frames looked at
MOST = 4096  # entries of a cache
MOST_WITHIN = 8  # datasets within one another whose lengths are looked through
HARMLESS = {"len", "int", "min", "max", "sum"}  # builtins that a __len__ may call without anybody noticing

places = {}  # (code, line): its place
kinds = {}  # file name: 0 the person's, 1 an installed package's or the standard library's, 2 torch's or the hook's


def kind_of(name):
    kind = kinds.get(name)
    if kind is None:
        if name.startswith(HERE) or "/torch/" in name and in_torch(name):
            kind = 2
        elif "/site-packages/" in name or "/dist-packages/" in name or name.startswith(STDLIB) or name.startswith("<frozen"):
            kind = 1
        else:
            kind = 0
        if len(kinds) > MOST:
            kinds.clear()
        kinds[name] = kind
    return kind


def in_torch(name):
    file = getattr(sys.modules.get("torch"), "__file__", None)
    return file is not None and name.startswith(os.path.dirname(file) + "/")


def nearest(frame):
    """The nearest frame of the person's own source, else of an installed package; None where all is torch's."""
    other = None
    for _ in range(DEEPEST):
        if frame is None:
            break
        kind = kind_of(frame.f_code.co_filename)
        if kind == 0:
            return frame
        if kind == 1 and other is None:
            other = frame
        frame = frame.f_back
    return other


def place(frame):
    """File, line and function of a frame."""
    code = frame.f_code
    key = (code, frame.f_lineno)
    known = places.get(key)
    if known is not None:
        return known
    name = code.co_filename
    if not name.startswith("<"):
        name = os.path.abspath(name)
    if len(places) > MOST:
        places.clear()
    places[key] = known = (text(name), frame.f_lineno, text(getattr(code, "co_qualname", code.co_name)))
    return known


def name_of(thing):
    """Module and name of a class or function."""
    thing = getattr(thing, "func", thing) if type(thing).__name__ == "partial" else thing
    name = getattr(thing, "__qualname__", None)
    if not isinstance(name, str):
        thing, name = type(thing), type(thing).__qualname__
    return text("%s.%s" % (getattr(thing, "__module__", ""), name))


def items(dataset):
    """len(dataset) where asking costs nothing and shows nowhere: a __len__ may print, or count the lines of a file. None also where it raises, which
    the job may never have known it to do."""
    try:
        if not quiet(dataset, 0):
            return None
        length = len(dataset)
    except Exception as error:
        if alarmed(error):
            raise
        return None
    return length if type(length) is int else None


def quiet(dataset, depth):
    """Says whether len(dataset) only looks at what is there."""
    method = getattr(type(dataset), "__len__", None)
    code = getattr(method, "__code__", None)
    if code is None:
        return method is not None and isinstance(dataset, (list, tuple, dict, range))
    if kind_of(code.co_filename) == 2:
        return True
    if depth > MOST_WITHIN or calls_more(code):
        return False
    for name in code.co_names:
        known = getattr(type(dataset), name, None)
        if callable(known) or isinstance(known, property):
            return False
        if name not in HARMLESS and (name in method.__globals__ or hasattr(builtins, name)):
            return False
        within = getattr(getattr(type(getattr(dataset, "__dict__", {}).get(name)), "__len__", None), "__code__", None)
        if within is not None and kind_of(within.co_filename) == 0 and not quiet(dataset.__dict__[name], depth + 1):
            return False
    return True


def calls_more(code):
    """Says whether a function calls, or makes, anything but the builtins that are harmless."""
    import dis

    calls = 0
    for each in dis.get_instructions(code):
        if each.opname in ("LOAD_METHOD", "MAKE_FUNCTION"):
            return True
        if each.opname.startswith("CALL") and not each.opname.startswith("CALL_INTRINSIC"):
            calls += 1
        elif each.opname == "LOAD_GLOBAL" and each.argval in HARMLESS:
            calls -= 1
    return calls > 0


def whole(value):
    return value if type(value) is int else None


def boolean(value):
    return value if type(value) is bool else None


def now(loader):
    """The settings of a loader as they stand. A field that this version of PyTorch lacks is left out."""
    own = loader.__dict__
    batches = own.get("batch_sampler")
    inner = getattr(batches, "__dict__", {})
    size, drop = own.get("batch_size"), own.get("drop_last")
    sampler = own.get("sampler")
    if batches is not None and size is None:
        size, drop, sampler = inner.get("batch_size"), inner.get("drop_last"), batches
    timeout = own.get("timeout")
    made = {
        "class": name_of(type(loader)),
        "num_workers": whole(own.get("num_workers")),
        "prefetch_factor": whole(own.get("prefetch_factor")) if own.get("num_workers") else None,
        "persistent_workers": boolean(own.get("persistent_workers")),
        "pin_memory": boolean(own.get("pin_memory")),
        "batch_size": whole(size),
        "drop_last": boolean(drop),
        "in_order": boolean(own.get("in_order")),
        "timeout": float(timeout) if isinstance(timeout, (int, float)) else None,
        "dataset": name_of(type(own.get("dataset"))),
        "collate": name_of(own.get("collate_fn")),
        "iterable": own.get("_dataset_kind") == 1,
    }
    if not made["iterable"]:
        made["sampler"] = name_of(type(sampler))
    if made["num_workers"]:
        made["start_method"] = start_method(own.get("_DataLoader__multiprocessing_context"))
    return {key: value for key, value in made.items() if value is not None}


def start_method(context):
    """How workers are begun; asking must not settle the platform's default, which the job may still change."""
    import multiprocessing

    if context is None:
        method = multiprocessing.get_start_method(allow_none=True)
        return method or multiprocessing.get_all_start_methods()[0]
    method = getattr(context, "_name", None)
    return method if isinstance(method, str) else context.get_start_method()


def given(function, positional, named):
    """Parameters that a call named or passed by position."""
    code = function.__code__
    names = code.co_varnames[1:code.co_argcount]
    return [text(name) for name in list(names[:len(positional)]) + list(named)][:32]
