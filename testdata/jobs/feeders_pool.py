"""Batches come from a multiprocessing.Pool of the job's own; no DataLoader is in the job.

Planted: one process, which needs six times as long for a batch as the step takes. No setting of torch's is here: the
number of processes is the program's own argument.
Cure: more processes, as far as there are CPUs for them.
"""

import multiprocessing

import numpy as np
import torch

import stopwatch
import training


def make_batch(args):
    """One batch: decoded, augmented, as numpy arrays, which the pool hands over by pickling them."""
    index, size, cost = args
    stopwatch.burn(cost * size)
    return np.full((size, 3, 32, 32), float(index), dtype=np.float32), index % 10


class PoolLoader:
    def __init__(self, processes, size, cost, ahead):
        self.pool = multiprocessing.get_context("fork").Pool(processes)
        self.size, self.cost, self.ahead = size, cost, processes * ahead

    def __iter__(self):
        index, running = 0, []
        while True:
            while len(running) < self.ahead:
                running.append(self.pool.apply_async(make_batch, ((index, self.size, self.cost),)))
                index += 1
            x, y = running.pop(0).get()
            yield torch.from_numpy(x), y


def main():
    args = stopwatch.arguments(__doc__, workers=1, batch_size=16, step=0.02, cost=0.0075)
    loader = PoolLoader(args.workers, args.batch_size, args.cost, args.prefetch)
    training.run(args, loader)


if __name__ == "__main__":
    main()
