"""A Parquet file that is read for each item, by PyArrow with its own threads.

Planted: the file has as many rows as take some --item milliseconds to read. --together is the cure: each worker reads it once.
"""

import os

import numpy
import pyarrow
import pyarrow.parquet
from torch.utils.data import DataLoader

import stack

ROWS = 60  # for a millisecond, about: 12 KiB each


class Rows(stack.Items):
    def __init__(self, args):
        super().__init__(args)
        self.path, self.rows = os.path.join(args.folder, "items.parquet"), max(int(args.item * ROWS), 1)
        values = numpy.random.default_rng(7).integers(0, 64, (self.rows, 12288), "u1")
        pyarrow.parquet.write_table(pyarrow.table({"value": [row.tobytes() for row in values]}), self.path)

    def __getitem__(self, index):
        self.table()["value"][index % self.rows].as_py()
        return stack.features(index)

    def table(self):
        return pyarrow.parquet.read_table(self.path)


class Together(Rows):
    read = None

    def table(self):
        if self.read is None:
            self.read = super().table()
        return self.read


def main():
    args = stack.arguments(__doc__, together="read the file once for each worker")
    data = (Together if args.together else Rows)(args)
    stack.train(args, DataLoader(data, batch_size=stack.BATCH, shuffle=True, num_workers=args.workers))


if __name__ == "__main__":
    main()
