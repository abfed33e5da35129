"""Hugging Face's datasets, row by row: windows of a table, each row of which is read by itself, in the format of PyTorch.

Planted: an item is as many rows as take --item milliseconds at 0.2 ms each. --together is the cure: one reading for the rows of a batch.
"""

import datasets
import torch
from torch.utils.data import DataLoader, Dataset

import stack

ROW = 0.2  # milliseconds, about


class Windows(Dataset):
    def __init__(self, args):
        self.rows, self.count = max(int(args.item / ROW), 1), args.steps * stack.BATCH
        self.table = datasets.Dataset.from_dict({"number": range(self.count + self.rows)}).with_format("torch")

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.item([self.table[index + i]["number"] for i in range(self.rows)])

    def item(self, window):
        return stack.features(int(window[0]))


class Together(Windows):
    def __getitems__(self, indices):
        numbers = self.table[[index + i for index in indices for i in range(self.rows)]]["number"]
        return [self.item(window) for window in torch.split(numbers, self.rows)]


def main():
    args = stack.arguments(__doc__, together="read the rows of a batch at once")
    data = (Together if args.together else Windows)(args)
    stack.train(args, DataLoader(data, batch_size=stack.BATCH, shuffle=True, num_workers=args.workers))


if __name__ == "__main__":
    main()
