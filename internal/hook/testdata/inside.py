"""Iterable datasets that make their batches themselves, in a worker and in the trainer: of tensors, and of what has no size."""

import torch
from torch.utils.data import DataLoader, IterableDataset


class Batches(IterableDataset):
    def __init__(self, batch):
        self.batch = batch

    def __iter__(self):
        return iter([self.batch] * 5)


for batch in torch.zeros(8, 3), {"x": (torch.zeros(4), "y")}, "words":
    for workers in 0, 1:
        assert len(list(DataLoader(Batches(batch), batch_size=None, num_workers=workers))) == 5
