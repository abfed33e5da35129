"""A sampler that takes four milliseconds for each batch, in trainers without workers and with them; prints the longest
that it took, in nanoseconds."""

import time

import torch
from torch.utils.data import DataLoader, Sampler

longest = 0


class Slow(Sampler):
    def __init__(self):
        pass

    def __len__(self):
        return 60

    def __iter__(self):
        global longest
        for batch in range(60):
            begun = time.monotonic_ns()
            time.sleep(0.004)
            indices = list(range(4 * batch, 4 * batch + 4))
            longest = max(longest, time.monotonic_ns() - begun)
            yield indices


for workers in (0, 2):
    loader = DataLoader(range(240), batch_sampler=Slow(), num_workers=workers)
    iterator = iter(loader)
    drawn = iterator._sampler_iter
    for batch in iterator:
        assert iterator._sampler_iter is drawn and type(batch) is torch.Tensor
        time.sleep(0.01)
    # in the last steps with workers none is left to be drawn
    assert batch.tolist() == [236, 237, 238, 239]
print(longest)
