"""A sampler that takes a millisecond for each index, in trainers without workers and with them."""

import time

import torch
from torch.utils.data import DataLoader, Sampler


class Slow(Sampler):
    def __init__(self):
        pass

    def __len__(self):
        return 240

    def __iter__(self):
        for index in range(240):
            time.sleep(0.001)
            yield index


for workers in (0, 2):
    loader = DataLoader(range(240), 4, sampler=Slow(), num_workers=workers)
    iterator = iter(loader)
    drawn = iterator._sampler_iter
    for batch in iterator:
        assert iterator._sampler_iter is drawn and type(batch) is torch.Tensor
        time.sleep(0.01)
    print(batch.tolist())
