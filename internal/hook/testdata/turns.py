"""Two threads make iterators at once: the one has begun to before the other has started its workers, and ends after it. Prints, for each way to begin
workers, the process numbers of the workers of the loader of three batches and of that of two."""

import json
import sys
import threading

import torch
from torch.utils.data import DataLoader, TensorDataset

DATA = TensorDataset(torch.zeros(6, 2))


class Batches:
    """A batch sampler that lets the other thread go ahead when its iterator is asked for, which is before workers are started."""

    def __init__(self, size, ahead, behind):
        self.size, self.ahead, self.behind = size, ahead, behind

    def __iter__(self):
        self.ahead.set()
        assert self.behind.wait(60)
        return iter([list(range(at, at + self.size)) for at in range(0, 6, self.size)])

    def __len__(self):
        return 6 // self.size


def main():
    for method in sys.argv[1:]:
        begun, made = threading.Event(), threading.Event()
        first = DataLoader(DATA, batch_sampler=Batches(2, threading.Event(), begun), num_workers=1, multiprocessing_context=method)
        second = DataLoader(DATA, batch_sampler=Batches(3, begun, made), num_workers=1, multiprocessing_context=method)
        iterators = {}

        def go():
            iterators["first"] = iter(first)
            made.set()

        thread = threading.Thread(target=go)
        thread.start()
        iterators["second"] = iter(second)
        thread.join()
        print(json.dumps([[worker.pid for worker in iterators[name]._workers] for name in ("first", "second")]))
        assert [len(list(iterators[name])) for name in ("first", "second")] == [3, 2]


if __name__ == "__main__":
    main()
