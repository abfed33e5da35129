"""Goes over loaders of every kind with a stop-watch of its own, and prints what it measured, one JSON object for each loader in order."""

import json
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

clock = time.monotonic


class Items(Dataset):
    def __init__(self, count=24, seconds=0.002):
        self.count, self.seconds = count, seconds

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(self.seconds)
        return torch.zeros(5)


class Batched(Items):
    def __getitems__(self, indices):
        time.sleep(self.seconds * len(indices))
        return [torch.zeros(5) for _ in indices]


class Stream(IterableDataset):
    def __iter__(self):
        for _ in range(24):
            time.sleep(0.002)
            yield torch.zeros(5)


class Watch:
    """The stop-watch of one loader."""

    def __init__(self, loader):
        self.loader = loader
        self.wait = self.create = self.drain = self.step = self.inner = 0.0
        self.steps = self.epochs = 0

    def batches(self):
        began = clock()
        iterator = iter(self.loader)
        self.create += clock() - began
        entered = None
        while True:
            began = clock()
            if entered is not None:
                self.step += began - entered
            entered = began
            try:
                batch = next(iterator)
            except StopIteration:
                self.drain += clock() - began
                self.epochs += 1
                return
            self.wait += clock() - began
            self.steps += 1
            yield batch

    def told(self):
        print(json.dumps({"steps": self.steps, "epochs": self.epochs, "wait": self.wait, "create": self.create, "drain": self.drain,
                          "step_time": self.step - self.inner, "nested": self.inner}))


def over(loader, epochs=2):
    watch = Watch(loader)
    for _ in range(epochs):
        for _ in watch.batches():
            time.sleep(0.003)
    watch.told()


def nested():
    train, evaluation = Watch(DataLoader(Items(12, 0.001), 4)), Watch(DataLoader(Items(12, 0.004), 4))
    for number, _ in enumerate(train.batches()):
        if number == 1:
            began = clock()
            with torch.no_grad():
                for _ in evaluation.batches():
                    time.sleep(0.01)
            train.inner += clock() - began
        time.sleep(0.01)
    train.told()
    evaluation.told()


def given_up():
    """An evaluation of two batches in the middle of an epoch."""
    train, evaluation = Watch(DataLoader(Items(12, 0.001), 4)), Watch(DataLoader(Items(12, 0.004), 4))
    for number, _ in enumerate(train.batches()):
        if number == 1:
            with torch.no_grad():
                began = clock()
                for count, _ in enumerate(evaluation.batches()):
                    if count == 1:
                        train.inner += clock() - began
                        break
                    time.sleep(0.01)
        time.sleep(0.01)
    train.told()
    evaluation.told()


def left():
    """An epoch of short steps that is left, and another one begun."""
    watch = Watch(DataLoader(Items(400, 0), 1))
    for steps in 200, 0:
        for number, _ in enumerate(watch.batches()):
            if number == steps:
                break
            time.sleep(0.001)
    watch.told()


def both():
    left, right = Watch(DataLoader(Items(12, 0.002), 4)), Watch(DataLoader(Items(12, 0.003), 4))
    for _ in zip(left.batches(), right.batches()):
        time.sleep(0.01)
    left.told()
    right.told()


def main():
    over(DataLoader(Items(25), 4))
    over(DataLoader(Items(), 4, num_workers=2, multiprocessing_context="fork"))
    over(DataLoader(Items(), 4, num_workers=2, multiprocessing_context="fork", persistent_workers=True))
    over(DataLoader(Stream(), 4, num_workers=1, multiprocessing_context="fork"), 1)
    over(DataLoader(Batched(), 4))
    over(DataLoader(Items(), batch_sampler=[[0, 1, 2], [3]]))
    nested()
    given_up()
    both()
    if len(sys.argv) > 1:
        over(DataLoader(Items(), 4, num_workers=1, multiprocessing_context="spawn"), 1)
        over(DataLoader(Items(), 4, num_workers=1, multiprocessing_context="forkserver"), 1)
    left()
    sys.stdout.flush()


if __name__ == "__main__":
    main()
