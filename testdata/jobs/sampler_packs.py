"""A batch_sampler that packs all of an epoch before it gives its first batch.

Planted: sequences of 16 to 512 tokens are packed into batches of at most 65,536 tokens, best fit first, by Python code over the
whole dataset in __iter__: the trainer's main thread computes, no worker has an index to work on, and the device has nothing to
do. Making a batch costs next to nothing.
Cure: --sampler kept, which packs once and shuffles the batches of each epoch.
"""

import random

import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

ITEMS, SHORTEST, LONGEST, ROOM = 120000, 16, 512, 65536


class Tokens(Dataset):
    def __init__(self):
        dice = random.Random(5)
        self.lengths = [dice.randint(SHORTEST, LONGEST) for _ in range(ITEMS)]

    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        return torch.zeros(self.lengths[index], dtype=torch.int32)


class Packed:
    """Batches of items that hold at most ROOM tokens together."""

    def __init__(self, lengths, kept):
        self.lengths = lengths
        self.kept = self.packed(random.Random(7)) if kept else None

    def packed(self, dice):
        order = list(range(len(self.lengths)))
        dice.shuffle(order)
        batches = []  # [room left, items]
        for item in order:
            best = None
            for batch in batches:
                left = batch[0] - self.lengths[item]
                if left >= 0 and (best is None or batch[0] < best[0]):
                    best = batch
            if best is None:
                best = [ROOM, []]
                batches.append(best)
            best[0] -= self.lengths[item]
            best[1].append(item)
        return [items for _, items in batches]

    def __iter__(self):
        if self.kept is None:
            return iter(self.packed(random.Random()))
        return iter(random.sample(self.kept, len(self.kept)))


def pad(samples):
    return torch.nn.utils.rnn.pad_sequence(samples, batch_first=True)


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=32, step=0.006, sampler="packs")
    data = Tokens()
    loader = DataLoader(data, batch_sampler=Packed(data.lengths, args.sampler == "kept"), num_workers=args.workers,
                        prefetch_factor=args.prefetch, collate_fn=pad)
    training.run(args, loader)


if __name__ == "__main__":
    main()
