"""Tables of Hugging Face's datasets, read row by row and by batches of 5."""

import io

import datasets
import numpy
from PIL import Image
from torch.utils.data import DataLoader, Dataset

datasets.disable_progress_bars()


class Around(Dataset):
    """A class around a table, which reads each row by itself."""

    def __init__(self, table, index=int):
        self.table, self.index = table, index

    def __len__(self):
        return 20

    def __getitem__(self, i):
        return float(numpy.asarray(self.table[self.index(i)]["x"]).sum())


class Together(Around):
    def __getitems__(self, indices):
        return [float(numpy.asarray(x).sum()) for x in self.table[indices]["x"]]


def picture():
    file = io.BytesIO()
    Image.fromarray(numpy.zeros((64, 64, 3), numpy.uint8)).save(file, "PNG")
    return {"bytes": file.getvalue(), "path": None}


numbers = datasets.Dataset.from_dict({"x": range(20)})
pictures = datasets.Dataset.from_dict({"x": [picture()] * 20}, features=datasets.Features(x=datasets.Image()))


def main():
    for data, workers in (
        (Around(numbers), 0),
        (Around(numbers), 2),
        (Around(numbers.with_format("torch"), numpy.int64), 0),
        (Together(numbers), 0),
        (Around(numbers.with_transform(lambda rows: rows)), 0),
        (Around(pictures), 0),
    ):
        print(sum(float(batch.sum()) for batch in DataLoader(data, batch_size=5, num_workers=workers)))


if __name__ == "__main__":
    main()
