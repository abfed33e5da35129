"""Loops whose loader may be taken out: each prints what it was handed, until it is told to end by the file that its argument names."""

import os
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Items(Dataset):
    def __len__(self):
        return 20 if "short" in sys.argv else 100000

    def __getitem__(self, index):
        info = get_worker_info()
        if "dies" in sys.argv and info is not None and info.num_workers > 1:
            os._exit(3)
        time.sleep(0.002)
        return {"x": torch.full((4,), float(index)), "y": index}


class Stream(IterableDataset):
    def __iter__(self):
        return iter([Items()[index] for index in range(20)])


class Own(DataLoader):
    def __iter__(self):
        return super().__iter__()


def loader(workers, **more):
    kind = Own if "own" in sys.argv else DataLoader
    return kind(Stream() if "stream" in sys.argv else Items(), batch_size=2, num_workers=workers, **more)


def plain(batch):
    x, y = batch.pop("x"), batch.pop("y")  # a batch of which nothing is left
    return float(x[0, 0]), int(y[0])


def changing(batch):
    x = batch["x"]
    value = float(x[0, 0]), int(batch["y"][0])
    x.mul_(0.5)
    return value


def train(over, take, loaders):
    step = 0
    while True:
        for batches in zip(*loaders):
            print(*[take(batch) for batch in batches], flush=True)
            step += 1
            if step % 5 == 0 and "evaluates" in sys.argv:
                with torch.no_grad():
                    print("evaluated", [int(batch["y"][0]) for batch in DataLoader(torch.utils.data.Subset(Items(), range(4)), batch_size=2)], flush=True)
            time.sleep(0.001)
            if os.path.exists(over):
                return


def main():
    over, how = sys.argv[1:3]
    if how == "forked":  # trainers of the job's own, forked from a process that has gone over a loader
        next(iter(loader(0)))
        forked = []
        while len(forked) < 2 and 0 not in forked:
            forked.append(os.fork())
        if 0 not in forked:
            sys.exit(max([os.waitpid(pid, 0)[1] for pid in forked]))
    loaders = {"zip": 2}.get(how, 1)
    train(over, changing if how == "changing" else plain, [loader(1 if how == "workers" else 0) for _ in range(loaders)])


if __name__ == "__main__":
    main()
