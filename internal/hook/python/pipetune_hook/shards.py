"""How many shards a dataset is in, of the classes that are known to divide theirs among the workers: a worker beyond
that gets none, and WebDataset's raises an error then.

Only attributes that the objects themselves hold are read, of classes that are exactly those of the library."""

import os
import sys
from types import ModuleType

from .look import class_name, field, fields, text

DEEPEST = 32  # datasets within one another
HUGGING, TARS = "datasets.iterable_dataset", ("webdataset.compat", "webdataset.pipeline")


def of_library(thing, module):
    """The name of a thing's class, where it is one that a module of a library defines; else empty."""
    holder, name = sys.modules.get(module), text(class_name(type(thing)))
    return name if type(holder) is ModuleType and vars(holder).get(name) is type(thing) else ""


def known(dataset):
    """The shards of a dataset for this process; None: not known."""
    if of_library(dataset, HUGGING) == "IterableDataset":
        own = fields(dataset)
        return of_rank(sources(own.get("_ex_iterable"), 0), own.get("_distributed"))
    if of_library(dataset, TARS[0]) == "WebDataset" or of_library(dataset, TARS[1]) == "DataPipeline":
        stages = field(dataset, "pipeline")
        return tars(stages[0]) if type(stages) is list and stages else None
    return None


def sources(examples, depth):
    """Those of Hugging Face's datasets, as its own num_shards counts them: lists among what a generator is given."""
    if depth > DEEPEST or not of_library(examples, HUGGING):
        return None
    own = fields(examples)
    if "ex_iterable" in own:
        return sources(own["ex_iterable"], depth + 1)
    given = own.get("kwargs")
    if type(given) is not dict:
        return None  # several datasets in one
    lengths = {list.__len__(each) for each in given.values() if issubclass(type(each), list)}
    return max(lengths, default=1) if len(lengths) < 2 else None


def of_rank(count, divided):
    """Those of one rank, where they are divided among ranks; by examples, each rank goes over all shards."""
    if count is None or divided is None:
        return count
    own = fields(divided)
    ranks, how = own.get("world_size"), text(own.get("strategy", "auto"))
    if type(ranks) is not int or ranks < 1:
        return None
    return count if how == "examples" or how == "auto" and count % ranks else count // ranks


def tars(stage):
    """Those of a list of tar files; ranks that are named in the environment divide it, as WebDataset asks for."""
    urls = fields(stage).get("urls")
    if of_library(stage, "webdataset.shardlists") != "SimpleShardList" or type(urls) is not list:
        return None
    ranks = os.environ.get("WORLD_SIZE", "")
    return len(urls) // (int(ranks) if ranks.isdigit() and 0 < len(ranks) < 7 else 1) or None
