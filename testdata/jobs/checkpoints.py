"""A loop whose data is ready in time, and which saves a checkpoint now and then.

Planted: the main thread writes the checkpoint, and training stands still meanwhile.
Cure: write it in the background, from a copy (--background 1), or less often.
"""

import os
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset

import gpu
import settings
import stopwatch


class Items(Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, index):
        return torch.full((64, 64), float(index % 7)), index % 10


def save(state, path):
    with open(path + ".partial", "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(path + ".partial", path)


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=16, step=0.03, every=3.0, megabytes=512, background=0)
    folder = stopwatch.dataset(args, lambda folder: None)
    path = os.path.join(folder, "checkpoint-%d.pt" % os.getpid())
    state = {"layer.%d" % i: torch.rand(1 << 18) for i in range(args.megabytes)}
    loader = DataLoader(Items(), **settings.chosen(args, batch_size=args.batch_size, num_workers=args.workers, prefetch_factor=args.prefetch,
                                                   persistent_workers=True))
    watch = stopwatch.StopWatch(args)
    due, writer = time.monotonic() + args.every, None
    try:
        for epoch in watch.epochs():
            for x, y in watch.batches(loader):
                gpu.step(args.step)
                if time.monotonic() < due:
                    continue
                if not args.background:
                    save(state, path)
                elif writer is None or not writer.is_alive():
                    writer = threading.Thread(target=save, args=({k: v.clone() for k, v in state.items()}, path))
                    writer.start()
                due = time.monotonic() + args.every
        if writer:
            writer.join()
    finally:
        for name in (path, path + ".partial"):
            if os.path.exists(name):
                os.remove(name)


if __name__ == "__main__":
    main()
