"""Loaders gone over by the main thread and by others, here and in processes forked by either."""

import os
import threading
import time
import warnings

import torch
from torch.utils.data import DataLoader, TensorDataset

DATA = TensorDataset(torch.zeros(10, 2))
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 and newer, of a fork beside threads


def go(batch_size):
    return len(list(DataLoader(DATA, batch_size)))


def tell():
    """Totals are told with a first batch, unless nobody took the messages before: of further loaders then."""
    for _ in range(5):
        time.sleep(0.05)
        go(10)


def beside(run, *args):
    thread = threading.Thread(target=run, args=args)
    thread.start()
    thread.join()


def forked(run, *args):
    pid = os.fork()
    if pid == 0:
        run(*args)
        tell()
        os._exit(0)
    os.waitpid(pid, 0)


go(5)  # loader 0
beside(go, 2)  # loader 1
prefetched = iter(DataLoader(DATA, 1))  # loader 2: made here, and two batches taken here
next(prefetched), next(prefetched)
beside(list, prefetched)
tell()
beside(forked, go, 4)  # in its process the thread that forked is the main one
forked(beside, go, 3)  # and here it is not
