"""A healthy job with num_workers=0: the data set is a tensor in memory, and workers would only cost.

Nothing is planted: a batch takes well under a millisecond to collate.
"""

import torch
from torch.utils.data import DataLoader, TensorDataset

import stopwatch
import training


def main():
    args = stopwatch.arguments(__doc__, workers=0, batch_size=64, step=0.03)
    data = TensorDataset(torch.randn(12800, 128), torch.randint(0, 2, (12800,)))
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers)
    training.run(args, loader)


if __name__ == "__main__":
    main()
