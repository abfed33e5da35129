"""What the hook costs a step, within one process: stretches of steps with its wrapper and without it, by turns.

Nothing is planted, and the job is of no use without the hook. Whole jobs differ from one another by more than the hook costs;
two stretches of one job that follow each other hardly do. Prints a line for each pair of stretches: microseconds per step of wall
time and of the main thread's CPU time, without the wrapper and with it.
"""

import random
import time
from itertools import repeat

import torch
from torch.utils.data import DataLoader, TensorDataset, _utils, dataloader

import stopwatch

PAIRS = 20
STRETCHES = 4  # of each kind in a pair
STEPS = 250  # in a stretch
SETTLE = 50  # steps before it
PLACES = [(dataloader._BaseDataLoaderIter, "__next__"), (_utils.fetch._MapDatasetFetcher, "fetch")]


class Endless:
    """A sampler without end, so that no epoch ends within a stretch."""

    def __iter__(self):
        while True:
            yield from range(4096)


class Matrices:
    """Small products that a step launches on a GPU, which it waits for in each 20th: as the loops that hide no cost."""

    def __init__(self, count):
        self.count, self.steps = count, 0
        self.matrix = torch.rand(256, 256, device="cuda") if count else None

    def step(self, batch):
        if not self.count:
            return
        batch[0].cuda(non_blocking=True)
        for _ in range(self.count):
            self.matrix @ self.matrix
        self.steps += 1
        if self.steps % 20 == 0:
            torch.cuda.synchronize()


def stretch(iterator, functions, args, steps, matrices):
    for (holder, name), function in zip(PLACES, functions):
        setattr(holder, name, function)
    for count in (SETTLE, steps):
        wall, cpu = time.monotonic_ns(), time.thread_time_ns()
        for _ in range(count):
            matrices.step(next(iterator))
            sum(repeat(1, args.work))
            if args.step:
                time.sleep(args.step)
        wall, cpu = time.monotonic_ns() - wall, time.thread_time_ns() - cpu
    return wall / steps / 1e3, cpu / steps / 1e3


def main():
    args = stopwatch.arguments(__doc__, workers=4, batch_size=4, work=0, step=0.0, matrices=0, pairs=PAIRS)
    hooked = [holder.__dict__[name] for holder, name in PLACES]
    bare = [function.__wrapped__ for function in hooked]
    data = TensorDataset(torch.arange(4096.0 * 8).reshape(-1, 8))
    more = {"prefetch_factor": 16} if args.workers else {}  # without workers PyTorch 2 refuses any
    iterator = iter(DataLoader(data, args.batch_size, sampler=Endless(), num_workers=args.workers, **more))
    matrices = Matrices(args.matrices)
    stretch(iterator, hooked, args, 1000, matrices)
    for _ in range(args.pairs):
        sums = {False: [0, 0], True: [0, 0]}
        order = [False, True] * STRETCHES
        random.shuffle(order)
        for with_hook in order:
            for at, took in enumerate(stretch(iterator, hooked if with_hook else bare, args, STEPS, matrices)):
                sums[with_hook][at] += took / STRETCHES
        print(*["%.2f" % each for each in sums[False] + sums[True]], flush=True)
    stretch(iterator, hooked, args, 1, matrices)


if __name__ == "__main__":
    main()
