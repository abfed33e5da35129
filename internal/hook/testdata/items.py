"""Items from HDF5 files, pictures and files of many items, by workers and without: with some slow ones, and an open per
item."""

import io
import os
import tarfile
import time
import zipfile

import h5py
import numpy
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

FOLDER = os.environ["FOLDER"]


class Reopened(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        if index in (7, 23):
            time.sleep(0.05)
        with h5py.File(os.path.join(FOLDER, "data.h5"), "r") as file:
            return torch.from_numpy(file["rows"][index])


class Pictures(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        picture = Image.open(os.path.join(FOLDER, "picture.png")).convert("L").resize((100, 100))
        return torch.from_numpy(numpy.asarray(picture).copy())


class Members(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        name = "%d.bin" % index
        with tarfile.open(os.path.join(FOLDER, "data.tar")) as file:
            one = file.extractfile(name).read()
        with zipfile.ZipFile(os.path.join(FOLDER, "data.zip")) as file:
            other = file.read(name)
        whole = numpy.load(os.path.join(FOLDER, "data.npy"))
        packed = numpy.load(os.path.join(FOLDER, "data.npz"))["x"]
        saved = torch.load(os.path.join(FOLDER, "data.pt"))
        assert one == other and (whole == packed).all() and (saved.numpy() == whole).all()
        return torch.tensor(one[0])


class Kept(Dataset):
    file = None

    def __len__(self):
        return 8

    def __getitem__(self, index):
        if self.file is None:
            self.file = tarfile.open(os.path.join(FOLDER, "data.tar"))
        return torch.tensor(self.file.extractfile("%d.bin" % index).read()[0])


def collate(items):
    time.sleep(0.01)
    return torch.stack(items)


def main():
    with h5py.File(os.path.join(FOLDER, "data.h5"), "w") as file:
        file["rows"] = numpy.zeros((40, 16), "f4")
    Image.fromarray(numpy.random.randint(0, 255, (200, 200, 3), "u1")).save(os.path.join(FOLDER, "picture.png"))
    with tarfile.open(os.path.join(FOLDER, "data.tar"), "w") as tar:
        with zipfile.ZipFile(os.path.join(FOLDER, "data.zip"), "w") as packed:
            for index in range(2000):
                info = tarfile.TarInfo("%d.bin" % index)
                info.size = 4
                tar.addfile(info, io.BytesIO(bytes([index % 256] * 4)))
                packed.writestr(info.name, bytes([index % 256] * 4))
    numbers = numpy.zeros((1000, 1000), "f4")
    numpy.save(os.path.join(FOLDER, "data.npy"), numbers)
    numpy.savez_compressed(os.path.join(FOLDER, "data.npz"), x=numbers)
    torch.save(torch.from_numpy(numbers), os.path.join(FOLDER, "data.pt"))
    total = 0
    for workers in (0, 2):
        for batch in DataLoader(Reopened(), 4, num_workers=workers, collate_fn=collate):
            total += len(batch)
        for batch in DataLoader(Pictures(), 5, num_workers=workers):
            total += len(batch)
        for data in (Members(), Kept()):
            for batch in DataLoader(data, 4, num_workers=workers):
                total += len(batch)
    print(total)


if __name__ == "__main__":
    main()
