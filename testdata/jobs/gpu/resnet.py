"""Trains a ResNet-50 in half precision on a real GPU, from a folder of JPEG files or an HDF5 file that it makes first.

Nothing is planted but what the options say. A line each second tells the pictures per second of that second.
"""

import argparse
import multiprocessing
import os
import sys
import time

import h5py
import numpy as np
import torch
import torchvision
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import pictures

SIZE = 500, 375
SIDE = 224
CHUNK = 64  # pictures that are compressed together
KEPT = 8  # batches


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = p.add_argument
    add("--data", required=True, help="folder; it is filled if it is not there")
    add("--count", type=int, default=8192)
    add("--hdf5", action="store_true", help="pictures of %d pixels a side, %d a gzip chunk" % (SIDE, CHUNK))
    add("--make", action="store_true", help="make the data and end")
    add("--workers", type=int, default=1)
    add("--batch-size", type=int, default=64)
    add("--persistent", action="store_true")
    add("--free", action="store_true", help="go round the first %d batches: what the loop does if data is free" % KEPT)
    add("--seconds", type=float, default=60)
    return p.parse_args()


def make_part(part):
    path, numbers, classes = part
    for number in numbers:
        where = os.path.join(path, "class_%d" % (number % classes))
        os.makedirs(where, exist_ok=True)
        pictures.picture(number, *SIZE).save(os.path.join(where, "%05d.jpg" % number), quality=90)


def compressed(numbers):
    found = [np.asarray(pictures.picture(number, SIDE, SIDE)) for number in numbers]
    return np.stack(found)


def make(args):
    path, count = args.data, args.count
    with multiprocessing.get_context("fork").Pool() as pool:
        if not args.hdf5:
            parts = [(path, range(i, count, 64), 4) for i in range(64)]
            pool.map(make_part, parts)
            return
        os.makedirs(path)
        with h5py.File(os.path.join(path, "pictures.h5"), "w") as file:
            shape = (count, SIDE, SIDE, 3)
            data = file.create_dataset("x", shape, "u1", chunks=(CHUNK,) + shape[1:], compression="gzip", compression_opts=4)
            for i, chunk in enumerate(pool.imap(compressed, [range(i, i + CHUNK) for i in range(0, count, CHUNK)])):
                data[i * CHUNK:(i + 1) * CHUNK] = chunk


class HDF5(Dataset):
    def __init__(self, path, count):
        self.path, self.count, self.file = path, count, None

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.file is None:
            self.file = h5py.File(self.path, "r")
        pixels = self.file["x"][index]
        return torch.from_numpy(pixels.transpose(2, 0, 1).astype(np.float32) / 255), index % 10


def kept_of(loader):
    """The first batches, and no workers any more."""
    found = []
    for batch in loader:
        found.append(batch)
        if len(found) == KEPT:
            return found


def main():
    args = arguments()
    if not os.path.exists(args.data):
        make(args)
    if args.make:
        return
    if args.hdf5:
        items = HDF5(os.path.join(args.data, "pictures.h5"), args.count)
    else:
        items = pictures.Pictures(args.data, SIDE)
    more = dict(persistent_workers=args.persistent) if args.workers else {}
    loader = DataLoader(items, args.batch_size, shuffle=True, num_workers=args.workers, pin_memory=True, drop_last=True,
                        **more)
    model = torchvision.models.resnet50(num_classes=10).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scaler, loss_of = torch.amp.GradScaler("cuda"), torch.nn.CrossEntropyLoss()
    begun = second = time.monotonic()
    count = 0
    batches = kept_of(loader) if args.free else loader
    while True:
        for x, y in batches:
            x = x.cuda(non_blocking=True).to(memory_format=torch.channels_last)
            y = y.cuda(non_blocking=True)
            with torch.autocast("cuda"):
                loss = loss_of(model(x), y)
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            count += len(x)
            now = time.monotonic()
            if now - second >= 1:
                print("%.1f pictures/s at %.3f loss %.3f" % (count / (now - second), now, loss.item()), flush=True)
                second, count = now, 0
            if now - begun > args.seconds:
                return


if __name__ == "__main__":
    main()
