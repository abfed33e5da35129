"""What a job can see of its loaders, and all the ways in which they fail: printed, to be the same with the hook and without."""

import importlib
import inspect
import multiprocessing
import os
import pickle
import re
import signal
import sys
import time

import h5py
import torch
from PIL import Image, ImageFile
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, get_worker_info


class Items(Dataset):
    def __init__(self, fault=None):
        self.fault = fault

    def __len__(self):
        return 12

    def __getitem__(self, index):
        if index == 5 and self.fault:
            self.fault()
        return torch.tensor(index)


class Ends(IterableDataset):
    def __iter__(self):
        yield torch.zeros(2)
        wrong()


class Seen(Items):
    def __getitem__(self, index):
        info = get_worker_info()
        return (type(info.dataset).__name__, hasattr(info.dataset, "__getitems__"), info.id) if info else "no worker"


def wrong():
    raise ValueError("item 5 is broken")


taken = multiprocessing.get_context("fork").Value("i")  # samples that the loop has had
due = multiprocessing.get_context("fork").Value("i", 5)  # those in the batches before item 5


def killed():
    while taken.value < due.value:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


def interrupted():
    raise KeyboardInterrupt


def left():
    sys.exit(7)


def collate(items):
    raise LookupError("cannot be put together")


def attempt(title, **named):
    """Goes over a loader and prints the batches and how it ended."""
    print("==", title)
    taken.value, due.value = 0, 5 - 5 % named["batch_size"]
    try:
        for batch in DataLoader(**named):
            print(batch)
            taken.value += named["batch_size"]
    except BaseException as error:
        print(type(error).__name__, re.sub(r"pid\(?s?\)? ?:? ?[0-9]+|pid\(s\) [0-9, ]+", "pid", str(error)))
        # Else the iterator lives on in a cycle, and the next worker inherits it, with a finalizer that is not made for that.
        error.__traceback__ = None


def seen():
    print(inspect.signature(DataLoader.__init__), DataLoader.__init__.__qualname__, DataLoader.__iter__.__doc__, DataLoader.__next__ if hasattr(DataLoader, "__next__") else "")
    print(inspect.signature(h5py.File.__init__), h5py.File.close.__name__, inspect.signature(Image.open), ImageFile.ImageFile.load.__doc__)
    loader = DataLoader(Items(), 4)
    print(sorted(key for key in vars(loader) if not key.startswith("_")), len(loader), type(iter(loader)).__name__)
    print(pickle.loads(pickle.dumps(h5py.__spec__.loader)) == h5py.__spec__.loader, type(h5py.__loader__).__name__, importlib.util.find_spec("json").name)
    print(importlib.reload(sys.modules["PIL.ImageFile"]).ImageFile.load.__name__, importlib.util.find_spec("no_such_module"))


def ends(workers, how):
    """A job that ends in the middle of an epoch."""
    taken.value = 0
    for number, _ in enumerate(DataLoader(Items(globals().get(how)), 1, num_workers=int(workers))):
        print(number, flush=True)
        taken.value += 1
        if how == "here" and number == 4:
            sys.exit(5)


def main():
    for way in sys.argv[1:]:  # each in a process of its own, so that torch is imported once
        print("==", way, flush=True)
        pid = os.fork()
        if not pid:
            return ends(*way.split())
        print("ended with", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    if len(sys.argv) > 1:
        return
    seen()
    for workers in (0, 2):
        forked = {"num_workers": workers, "multiprocessing_context": "fork"} if workers else {}
        attempt("map", dataset=Items(), batch_size=5, **forked)
        attempt("subset", dataset=Subset(Items(), [3, 1, 2]), batch_size=2, **forked)
        attempt("info", dataset=Seen(), batch_size=6, **forked)
        attempt("item", dataset=Items(wrong), batch_size=3, **forked)
        attempt("interrupt", dataset=Items(interrupted), batch_size=3, **forked) if not workers else None
        attempt("exit", dataset=Items(left), batch_size=3, **forked) if not workers else None
        attempt("killed", dataset=Items(killed), batch_size=3, **forked) if workers else None
        attempt("collate", dataset=Items(), batch_size=3, collate_fn=collate, **forked)
        attempt("iterable", dataset=Ends(), batch_size=1, **forked)
        attempt("refused", dataset=Items(), batch_size=1, sampler=[1], shuffle=True, **forked)
    child()


def child():
    """A fork in the middle of an epoch: both go on with it."""
    iterator = iter(DataLoader(Items(), 4))
    first = next(iterator)
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        total = sum(int(batch.sum()) for batch in iterator) + sum(int(batch.sum()) for batch in DataLoader(Items(), 4))
        os._exit(total)
    print("child", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), first, list(iterator))


if __name__ == "__main__":
    main()
