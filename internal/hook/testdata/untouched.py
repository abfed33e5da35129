"""What a job can see of its loaders, their iterators and fetchers from within, and what it throws into its own loop:
the same with the hook and without."""

import copy
import ctypes
import gc
import inspect
import pickle
import signal
import sys
import threading
import time
from typing import Protocol, runtime_checkable

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset


@runtime_checkable
class Stateful(Protocol):
    def state_dict(self): ...

    def load_state_dict(self, state): ...


class Going:
    """An iterator that can be copied, and has a state."""

    at = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.at += 1
        if self.at > 20:
            raise StopIteration
        return self.at

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Stream(IterableDataset):
    def __iter__(self):
        return Going()


class Whose(Dataset):
    """Hands out what its fetcher is seen to call."""

    def __init__(self):
        self.held = range(6)

    def __len__(self):
        return len(self.held)

    def __getitem__(self, index):
        return index


def seen():
    print(inspect.signature(DataLoader.__init__), inspect.getfullargspec(DataLoader.__init__))
    print(inspect.getfullargspec(DataLoader.__iter__).args)
    for data in (TensorDataset(torch.zeros(20, 2)), Stream(), Whose()):
        loader = DataLoader(data, batch_size=2)
        iterator = iter(loader)
        next(iterator)
        # Python 3.11 makes an object's dictionary where it is asked for, and reads the object slower from then on
        print("with a dictionary:", any([type(each) is dict for each in gc.get_referents(data)]))
        fetcher = iterator._dataset_fetcher
        print(sorted(vars(loader)), sorted(vars(iterator)), sorted(vars(fetcher)))
        print(type(fetcher.dataset).__name__, fetcher.collate_fn.__name__)
        twin = copy.deepcopy(fetcher)
        print(type(twin).__name__, twin.fetch([1, 2]), sorted(vars(copy.copy(loader))) == sorted(vars(loader)))
        print(len(list(pickle.loads(pickle.dumps(loader)))))
        going = getattr(fetcher, "dataset_iter", None)
        print(isinstance(going, Stateful), type(going).__name__, getattr(fetcher, "ended", None))
        print(len(list(iterator)), getattr(fetcher, "ended", None))


class Late(Exception):
    """The job's own."""


def rung(kind):
    """An alarm may strike within the hook: each one comes through, whatever its class."""
    count, struck = [0], [""]

    def ring(_, *frame):
        count[0] += 1
        struck[0] = "%s:%s" % (frame[0].f_code.co_filename, frame[0].f_lineno)
        raise kind

    signal.signal(signal.SIGALRM, ring)
    loader, caught, tries, until = DataLoader([torch.zeros(1)] * 50, batch_size=None), 0, 0, time.monotonic() + 1
    while time.monotonic() < until:
        tries += 1  # where the loop ends before most alarms, as on a fast machine, the next one is another
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0001 + (tries % 97) * 0.00001)
            for _ in loader:
                pass
            signal.setitimer(signal.ITIMER_REAL, 0)
        except kind:
            caught += 1
        if count[0] != caught:
            print(count[0], "alarms, and", caught, "came through; the last struck at", struck[0])
            break
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("alarms that came through:", kind.__name__, count[0] == caught, caught > 20)


def thrown(kind):
    """What another thread throws in comes through."""
    main, wanted, stop = threading.get_ident(), threading.Event(), []
    count = [0]

    def throw():
        while not stop:
            if wanted.wait(0.01) and not stop:
                wanted.clear()
                time.sleep(0.0002)
                count[0] += 1
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(kind))

    thread = threading.Thread(target=throw)
    thread.start()
    sys.setswitchinterval(1e-5)
    loader, caught, until = DataLoader([torch.zeros(1)] * 50, batch_size=None), 0, time.monotonic() + 1
    while time.monotonic() < until:
        try:
            wanted.set()
            patience = time.monotonic() + 10
            while time.monotonic() < patience:
                for _ in loader:
                    pass
            print("what a thread threw did not come through")
        except kind:
            caught += 1
    sys.setswitchinterval(0.005)
    stop.append(True)
    thread.join()
    print("thrown by a thread:", kind.__name__, count[0] == caught, caught > 20)


def collector():
    """A job's own gc.disable() stands, whichever thread makes it while the hook has something to tell."""
    stop, undone = [], [0]

    def go():
        while not stop:
            gc.disable()
            for _ in range(20):
                undone[0] += gc.isenabled()
            gc.enable()

    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=go)
    thread.start()
    until = time.monotonic() + 1
    while time.monotonic() < until:
        for _ in DataLoader([torch.zeros(1)] * 50, batch_size=None):
            pass
    stop.append(True)
    thread.join()
    sys.setswitchinterval(0.005)
    print("collections turned on behind its back:", undone[0])


def main():
    seen()
    for kind in (Late, ValueError, KeyboardInterrupt):
        rung(kind)
    for kind in (Late, KeyboardInterrupt):
        thrown(kind)
    collector()


main()
