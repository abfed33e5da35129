"""Items from tables that are read whole for each, and from a Zarr array."""

import os

import numpy
import pandas
import pyarrow.feather
import pyarrow.parquet
import torch
import zarr
from torch.utils.data import DataLoader, Dataset

FOLDER = os.environ["FOLDER"]
ROWS = 20000


def path(name):
    return os.path.join(FOLDER, name)


class Tables(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        found = [
            pandas.read_csv(path("data.csv"))["x"][index],
            pandas.read_parquet(path("data.parquet"))["x"][index],
            pandas.read_feather(path("data.feather"))["x"][index],
            pyarrow.parquet.read_table(path("data.parquet"))["x"][index].as_py(),
            pyarrow.feather.read_table(path("data.feather"))["x"][index].as_py(),
            zarr.open_array(path("data.zarr"), mode="r")[index],
        ]
        assert {int(value) for value in found} == {index}, found
        return torch.tensor(index)


def main():
    table = pandas.DataFrame({"x": numpy.arange(ROWS), "y": numpy.zeros(ROWS)})
    table.to_csv(path("data.csv"))
    table.to_parquet(path("data.parquet"))
    table.to_feather(path("data.feather"))
    zarr.create_array(path("data.zarr"), shape=(ROWS,), chunks=(ROWS,), dtype="i8")[:] = numpy.arange(ROWS)
    for workers in (0, 2):
        print(sum([int(batch.sum()) for batch in DataLoader(Tables(), 4, num_workers=workers)]))


if __name__ == "__main__":
    main()
