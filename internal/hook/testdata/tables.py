"""Items from tables that are read whole for each, and from a Zarr array. What a job may pickle by its name it still
can, imported before PyTorch."""

import os
import pickle

import numpy
import pandas
import pyarrow.parquet
import zarr
from pandas import read_csv

import torch
from torch.utils.data import DataLoader, Dataset

FOLDER = os.environ["FOLDER"]
ROWS = 20000


def path(name):
    return os.path.join(FOLDER, name)


class Tables(Dataset):
    array = None

    def __len__(self):
        return 160  # so many that opening the array once in each worker, which is not timed, is little

    def __getitem__(self, index):
        if self.array is None:
            self.array = zarr.open_array(path("data.zarr"), mode="r")
        found = [
            pyarrow.parquet.read_table(path("data.parquet"))["x"][index].as_py(),
            self.array[index],
        ]
        assert {int(value) for value in found} == {index}, found
        return torch.tensor(index)


class Frames(Tables):
    def __getitem__(self, index):
        return int(pandas.read_parquet(path("data.parquet"))["x"][index])


def main():
    table = pandas.DataFrame({"x": numpy.arange(ROWS), "y": numpy.zeros(ROWS)})
    table.to_parquet(path("data.parquet"))
    zarr.create_array(path("data.zarr"), shape=(ROWS,), chunks=(ROWS,), dtype="i8")[:] = numpy.arange(ROWS)
    held = [read_csv, pandas.read_csv, pandas.read_parquet, pyarrow.parquet.read_table, zarr.open, zarr.open_array]
    assert pickle.loads(pickle.dumps(held)) == held
    for workers in (0, 2):
        print(sum([int(batch.sum()) for batch in DataLoader(Tables(), 4, num_workers=workers)]))
    print(sum([int(batch.sum()) for batch in DataLoader(Frames(), 4)]))


if __name__ == "__main__":
    main()
