"""A collate_fn of one's own that pads token lists value by value.

Planted: each sample is a list of 200 to 512 token numbers, ready in memory, and collate_fn makes a tensor of every number and
stacks them: tens of milliseconds per batch where one copy would do. The dataset itself costs next to nothing.
Cure: --collate padded, which pads whole tensors (torch.nn.utils.rnn.pad_sequence).
"""

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

ITEMS, SHORTEST, LONGEST = 6400, 200, 512


class Tokens(Dataset):
    def __init__(self, as_lists):
        rng = np.random.default_rng(5)
        lengths = rng.integers(SHORTEST, LONGEST, ITEMS)
        self.ends = np.cumsum(lengths)
        self.tokens = rng.integers(0, 30000, int(self.ends[-1])).astype(np.int32)
        self.as_lists = as_lists

    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        begin = self.ends[index - 1] if index else 0
        tokens = self.tokens[begin:self.ends[index]]
        return tokens.tolist() if self.as_lists else torch.from_numpy(tokens)


def pad_values(samples):
    """Pads to the longest sample, one tensor for each number."""
    longest = max(len(sample) for sample in samples)
    rows = []
    for sample in samples:
        row = [torch.tensor(token) for token in sample]
        row += [torch.tensor(0)] * (longest - len(sample))
        rows.append(torch.stack(row))
    return torch.stack(rows)


def pad_whole(samples):
    return pad_sequence(samples, batch_first=True)


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=64, step=0.012, collate="values")
    values = args.collate == "values"
    loader = DataLoader(Tokens(values), batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True, collate_fn=pad_values if values else pad_whole)
    training.run(args, loader)


if __name__ == "__main__":
    main()
