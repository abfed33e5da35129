"""Datasets in shards, as their libraries make them and as people's own classes look like them: each with its shards."""

import os
import time

import datasets
import webdataset
from torch.utils.data import DataLoader, IterableDataset

os.environ["WORLD_SIZE"] = ""


class Own(IterableDataset):
    """Has what those of the libraries have."""

    def __init__(self):
        self.pipeline = [webdataset.SimpleShardList(["a.tar"])]
        self._ex_iterable = datasets.IterableDataset.from_generator(generate, gen_kwargs={"files": ["a"]})._ex_iterable

    @property
    def num_shards(self):
        print("asked")

    def __iter__(self):
        return iter(())


class Tars(webdataset.WebDataset):
    """May divide its shards in a way of its own."""


def generate(files, other=None):
    for file in files:
        yield {"x": file}


def of(count, **more):
    return datasets.IterableDataset.from_generator(generate, gen_kwargs=dict(files=["f"] * count, **more))


def ranked(count):
    from datasets.distributed import split_dataset_by_node
    return split_dataset_by_node(of(count), rank=0, world_size=2)


class Files(list):
    def __len__(self):
        print("asked")
        return list.__len__(self)


def main():
    tars = ["a.tar", "b.tar", "c.tar"]
    made = [
        (4, of(4)),
        (4, of(4).map(dict).filter(bool).shuffle(buffer_size=2).with_format("torch").take(9)),
        (3, of(3, other=["x", "y", "z"])),
        (None, of(3, other=["x"])),
        (1, of(1)),
        (2, ranked(4)),
        (3, ranked(3)),
        (None, datasets.interleave_datasets([of(2), of(3)])),
        (3, webdataset.WebDataset(tars, shardshuffle=False).map(dict).batched(2)),
        (3, webdataset.DataPipeline(webdataset.SimpleShardList(tars), webdataset.split_by_worker)),
        (None, webdataset.WebDataset(tars, resampled=True)),
        (None, Tars(tars, shardshuffle=False)),
        (None, Own()),
        (None, datasets.Dataset.from_dict({"x": [1]})),
    ]
    for wanted, data in made:
        DataLoader(data)
        print(wanted)
    files = Files(["a", "b"])
    data = of(2)
    data._ex_iterable.kwargs["files"] = files
    DataLoader(data)
    print(2)
    loader = DataLoader([1])
    for _ in range(20):  # what a full socket did not take is told with a later batch
        list(loader)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
