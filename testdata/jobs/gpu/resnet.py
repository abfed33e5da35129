"""Trains a ResNet-50 in half precision on a real GPU, from a folder of JPEG files that it makes first.

Nothing is planted but what the options say. A line each second tells the pictures per second of that second.
"""

import argparse
import multiprocessing
import os
import sys
import time

import torch
import torchvision
from torch.utils.data import DataLoader

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import pictures

SIZE = 500, 375
SIDE = 224
KEPT = 8  # batches


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = p.add_argument
    add("--data", required=True, help="folder; it is filled if it is not there")
    add("--count", type=int, default=8192)
    add("--make", action="store_true", help="make the data and end")
    add("--workers", type=int, default=1)
    add("--batch-size", type=int, default=64)
    add("--persistent", action="store_true")
    add("--free", action="store_true", help="go round the first %d batches: what the loop does if data is free" % KEPT)
    add("--seconds", type=float, default=60)
    return p.parse_args()


def make(path, count):
    with multiprocessing.get_context("fork").Pool() as pool:
        pool.starmap(pictures.folder, [(path, count, *SIZE, ".jpg", 4, i, 64) for i in range(64)])


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
        make(args.data, args.count)
    if args.make:
        return
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
