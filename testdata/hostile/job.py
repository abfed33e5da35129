"""A small training job that ends in the way its argument names. What it writes to stdout is the same in every run.

    python3 job.py WAY
"""

import hashlib
import os
import signal
import sys
import threading


class Numbers:
    poison = -1

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        import torch  # here: ways that do not train need not wait for it

        if index == self.poison:
            raise ValueError("item %d is no good" % index)
        return torch.full((8,), float(index)), index


def train(workers=2, batches=40, at=None, method=None, epochs=2):
    """Goes over a loader and prints what it got; at(loader, iterator, number) may interfere before each batch."""
    from torch.utils.data import DataLoader

    data = Numbers(batches * 4)
    if at == "poison":
        data.poison, at = 37, None
    loader = DataLoader(data, batch_size=4, num_workers=workers, multiprocessing_context=method if workers else None)
    print(type(loader).__name__, loader.batch_size, len(loader), DataLoader.__init__.__name__, DataLoader.__iter__.__qualname__)
    for epoch in range(epochs):
        digest = hashlib.sha256()
        iterator = iter(loader)
        for number in range(len(loader)):
            if at:
                at(loader, iterator, number)
            x, y = next(iterator)
            digest.update(x.numpy().tobytes() + y.numpy().tobytes())
        print(epoch, digest.hexdigest(), next(iterator, "over"), flush=True)


def leave(loader, iterator, number):
    if number == 20:
        print("leaving", flush=True)
        sys.exit(7)


def kill_worker(loader, iterator, number):
    if number == 5:
        os.kill(iterator._workers[0].pid, signal.SIGKILL)


def die(loader, iterator, number):
    if number == 20:
        print("dying", flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)


def raise_in_step(loader, iterator, number):
    if number == 20:
        raise KeyError("in the step")


def in_thread():
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()


def empty_environment():
    print("empty", flush=True)
    os.execve(sys.executable, [sys.executable, os.path.abspath(__file__), "train"], {})


def fork_and_train():
    """Children that fork and never exec, each with a loader of its own."""
    sys.stdout.flush()
    for number in range(4):
        child = os.fork()
        if child == 0:
            train(workers=1, batches=10, epochs=1)
            sys.stdout.flush()
            os._exit(number)
        print(number, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def own_subclass():
    from torch.utils.data import DataLoader, TensorDataset
    import inspect
    import pickle
    import torch

    class Mine(DataLoader):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)

        def __iter__(self):
            for batch in super().__iter__():
                yield [value + 1 for value in batch]

    loader = Mine(TensorDataset(torch.arange(40.0)), 8, num_workers=1)
    print(inspect.signature(DataLoader.__init__).parameters.keys())
    print([batch[0].sum().item() for batch in loader], [batch[0].sum().item() for batch in loader])
    print(len(pickle.dumps(TensorDataset(torch.arange(4.0)))) > 0, sorted(key for key in vars(loader) if not key.startswith("_")))


WAYS = {
    "train": train,
    "workerless": lambda: train(workers=0),
    "spawn": lambda: train(method="spawn", epochs=1),
    "forkserver": lambda: train(method="forkserver", epochs=1),
    "many": lambda: train(workers=64, batches=128, epochs=1),
    "exit": lambda: train(at=leave),
    "segv": lambda: train(at=die),
    "worker-killed": lambda: train(at=kill_worker),
    "raise": lambda: train(at=raise_in_step),
    "poison": lambda: train(at="poison"),
    "thread": in_thread,
    "fork": fork_and_train,
    "empty-environment": empty_environment,
    "subclass": own_subclass,
    "stdin": lambda: print(sys.stdin.read().upper(), end=""),
}

if __name__ == "__main__":
    WAYS[sys.argv[1]]()
