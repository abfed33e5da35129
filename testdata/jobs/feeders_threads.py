"""Batches come from threads of the trainer's own (ThreadPoolExecutor); no DataLoader is in the job.

Planted: one thread inflates pictures, which takes four times as long for a batch as the step does; zlib lets other
threads run meanwhile.
Cure: more threads, by the program's own argument, as far as there are CPUs for them.
"""

import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

import stopwatch
import training

SHAPE = (3, 256, 256)


class ThreadLoader:
    def __init__(self, threads, size, ahead):
        self.threads, self.size, self.ahead = ThreadPoolExecutor(threads), size, threads * ahead
        noise = np.random.default_rng(1).integers(0, 8, SHAPE, dtype=np.uint8)
        self.packed = zlib.compress(noise.astype(np.float32).tobytes(), 6)

    def make(self, index):
        return np.stack([np.frombuffer(zlib.decompress(self.packed), np.float32).reshape(SHAPE)
                         for _ in range(self.size)]), index % 10

    def __iter__(self):
        index, running = 0, []
        while True:
            while len(running) < self.ahead:
                running.append(self.threads.submit(self.make, index))
                index += 1
            x, y = running.pop(0).result()
            yield torch.from_numpy(x), y


def main():
    args = stopwatch.arguments(__doc__, workers=1, batch_size=32, step=0.03)
    loader = ThreadLoader(args.workers, args.batch_size, args.prefetch)
    training.run(args, loader)


if __name__ == "__main__":
    main()
