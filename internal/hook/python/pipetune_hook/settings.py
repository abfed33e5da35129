"""How a DataLoader was made: its settings, and the line of the person's source that made it."""

import os
import sys
from resource import RLIMIT_NOFILE, getrlimit
from types import FunctionType

from .alarm import HERE, STDLIB, in_torch
from .look import field, fields, name_of, of_class, one_of, text

DEEPEST = 200  # frames looked at
MOST = 4096  # entries of a cache

places = {}  # (address of a code, line): the code, kept so that its address stays its own, and its place
kinds = {}  # file name: 0 the person's, 1 an installed package's or the standard library's, 2 torch's or the hook's


def kind_of(name):
    kind = kinds.get(name)
    if kind is None:
        if name.startswith(HERE) or "/torch/" in name and in_torch(name):
            kind = 2
        elif (
            "/site-packages/" in name
            or "/dist-packages/" in name
            or name.startswith(STDLIB)
            or name.startswith("<frozen")
        ):
            kind = 1
        else:
            kind = 0
        if len(kinds) > MOST:
            kinds.clear()
        kinds[name] = kind
    return kind


def file_of(code):
    """The file of a code, whose name may be of a class of the job's."""
    return str.__str__(code.co_filename)


def whose(code):
    return kind_of(file_of(code))


def nearest(frame):
    """The nearest frame of the person's own source, else of an installed package; None where all is torch's."""
    other = None
    for _ in range(DEEPEST):
        if frame is None:
            break
        kind = whose(frame.f_code)
        if kind == 0:
            return frame
        if kind == 1 and other is None:
            other = frame
        frame = frame.f_back
    return other


def place(frame):
    """File, line and function of a frame."""
    code = frame.f_code
    key = (id(code), frame.f_lineno)
    known = places.get(key)
    if known is not None:
        return known[1]
    name = file_of(code)
    if not name.startswith("<"):
        name = os.path.abspath(name)
    if len(places) > MOST:
        places.clear()
    places[key] = known = code, (text(name), frame.f_lineno, text(getattr(code, "co_qualname", code.co_name)))
    return known[1]


def whole(value):
    return value if type(value) is int else None


def boolean(value):
    return value if type(value) is bool else None


def now(loader):
    """The settings of a loader as they stand. A field that this version of PyTorch lacks is left out."""
    own = fields(loader)
    if "dataset" not in own:
        return {"class": name_of(type(loader))}  # none of torch's, or one that was never made
    batches, sampler = own.get("batch_sampler"), own.get("sampler")
    size, drop = own.get("batch_size"), own.get("drop_last")
    if batches is not None and size is None:
        inner = fields(batches)
        size, drop, sampler = inner.get("batch_size"), inner.get("drop_last"), batches
    timeout = own.get("timeout")
    made = {
        "class": name_of(type(loader)),
        "num_workers": whole(own.get("num_workers")),
        "persistent_workers": boolean(own.get("persistent_workers")),
        "pin_memory": boolean(own.get("pin_memory")),
        "batch_size": whole(size),
        "drop_last": boolean(drop),
        "in_order": boolean(own.get("in_order")),
        "timeout": float(timeout) if one_of(type(timeout), (int, float)) else None,
        "dataset": name_of(type(own.get("dataset"))),
        "collate": name_of(own.get("collate_fn")),
        "iterable": whole(own.get("_dataset_kind")) == 1,
    }
    made["item_file"], made["item_line"] = where_items_are_made(own.get("dataset"))
    if not made["iterable"]:
        made["sampler"] = name_of(type(sampler))
        if made["sampler"] == WEIGHTED:
            made["num_samples"] = whole(fields(sampler).get("num_samples"))
    if made["num_workers"]:
        made["prefetch_factor"] = whole(own.get("prefetch_factor"))
        made["start_method"] = start_method(own.get("_DataLoader__multiprocessing_context"))
        made["sharing"] = text(getattr(sys.modules["torch.multiprocessing"], "_sharing_strategy", None)) or None
        made["open_files"] = whole(getrlimit(RLIMIT_NOFILE)[0])
    return {key: value for key, value in made.items() if value is not None}


def gives_items(loader):
    """Says whether a loader gives what its dataset has at one index, and puts nothing together."""
    own = fields(loader)
    return whole(own.get("_dataset_kind")) == 0 and own.get("batch_sampler") is None and own.get("batch_size") is None


WEIGHTED = "torch.utils.data.sampler.WeightedRandomSampler"
SUBSET = "torch.utils.data.dataset.Subset"


def where_items_are_made(dataset):
    """File and line of the person's own method of a dataset's class that makes items; None twice where it has none."""
    for _ in range(DEEPEST):
        if name_of(type(dataset)) != SUBSET:
            break
        dataset = field(dataset, "dataset")
    for name in ("__getitems__", "__getitem__", "__iter__"):
        method = of_class(type(dataset), name)
        if type(method) is FunctionType and whose(method.__code__) == 0:
            name = file_of(method.__code__)
            return text(name if name.startswith("<") else os.path.abspath(name)), method.__code__.co_firstlineno
    return None, None


def start_method(context):
    """How workers are begun, None where it is not known; asking must not settle the default, which may still change."""
    import multiprocessing

    if context is None or type(context) is multiprocessing.context.DefaultContext:
        method = multiprocessing.get_start_method(allow_none=True)
        return method or multiprocessing.get_all_start_methods()[0]
    return text(of_class(type(context), "_name")) or None


def given(function, positional, named):
    """Parameters that a call named or passed by position."""
    code = function.__code__
    names = code.co_varnames[1 : code.co_argcount]
    return [text(name) for name in list(names[: len(positional)]) + list(named)][:32]
