"""Mel segments from one compressed HDF5 file, and an evaluation that takes one recording at a time.

The field report: batches of 5,632 segments, 8 workers, prefetch_factor 4; HDF5's chunk cache as it comes, 1 MiB, where the
report's cure gives it 32 MiB and 521 slots; after each epoch 7,913 recordings are evaluated one by one in the training process.
Scaled: 6,400 segments of 16 KiB in gzip chunks of 80 (1.25 MiB decoded), batches of 16, 4 workers, 40 recordings evaluated.
Cures: --layout item (one segment per chunk); --cache-mib 160 (a cache that holds the whole); --eval-batch 16.
"""

import os
import sys

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import gpu
import settings
import stopwatch

SEGMENTS, BANDS, FRAMES, PER_FILE = 6400, 64, 64, 80
EVALUATED = 40


def make_layout(layout):
    def make(folder):
        rng = np.random.default_rng(22)
        per_chunk = PER_FILE if layout == "file" else 1
        with h5py.File(os.path.join(folder, "mels.h5"), "w") as file:
            x = file.create_dataset("segments", (SEGMENTS, BANDS, FRAMES), "f4", chunks=(per_chunk, BANDS, FRAMES), compression="gzip", compression_opts=1)
            for first in range(0, SEGMENTS, PER_FILE):
                noise = rng.standard_normal((PER_FILE, BANDS, FRAMES), dtype=np.float32)
                x[first:first + PER_FILE] = np.round(noise * 4) / 4  # decibels in quarters, as from 8-bit audio
            file.create_dataset("labels", data=rng.integers(0, 5, SEGMENTS // PER_FILE))
    return make


class Store:
    """The file, opened once per process, with a chunk cache of so many MiB (0: HDF5's own)."""

    def __init__(self, folder, cache_mib):
        self.path, self.cache_mib, self.file = os.path.join(folder, "mels.h5"), cache_mib, None

    def open(self):
        if self.file is None:
            cache = dict(rdcc_nbytes=self.cache_mib << 20, rdcc_nslots=521) if self.cache_mib else {}
            self.file = h5py.File(self.path, "r", **cache)
        return self.file


class Segments(Dataset):
    """Single segments, for training."""

    def __init__(self, folder, cache_mib):
        self.store = Store(folder, cache_mib)

    def __len__(self):
        return SEGMENTS

    def __getitem__(self, index):
        file = self.store.open()
        return torch.from_numpy(file["segments"][index]), int(file["labels"][index // PER_FILE])


class Recordings(Dataset):
    """All segments of one recording, for evaluation."""

    def __init__(self, folder, cache_mib):
        self.store = Store(folder, cache_mib)

    def __len__(self):
        return EVALUATED

    def __getitem__(self, index):
        file = self.store.open()
        return torch.from_numpy(file["segments"][index * PER_FILE:(index + 1) * PER_FILE]), int(file["labels"][index])


def evaluate(watch, loader, seconds):
    """One forward pass for each batch of recordings; a pass costs a fixed time and a little for each recording."""
    right = 0
    with torch.no_grad():
        for x, y in watch.batches(loader):
            gpu.step(seconds * (1 + 0.05 * (len(y) - 1)))
            right += int((x.mean(dim=(1, 2, 3)) > 0).sum())
    return right


def main():
    args = stopwatch.arguments(__doc__, workers=4, batch_size=16, prefetch=4, step=0.02, layout="file", cache_mib=0, eval_batch=1, eval_step=0.012, steps=60)
    folder = stopwatch.dataset(args, make_layout(args.layout))
    train = DataLoader(Segments(folder, args.cache_mib), **settings.chosen(
        args, batch_size=args.batch_size, shuffle=True, num_workers=args.workers, prefetch_factor=args.prefetch, persistent_workers=True, pin_memory=True))
    evaluation = DataLoader(Recordings(folder, args.cache_mib), batch_size=args.eval_batch, num_workers=0)
    watch = stopwatch.StopWatch(args)
    since = 0
    for epoch in watch.epochs():
        for x, y in watch.batches(train):
            gpu.step(args.step)
            since += 1
            if since >= args.steps and not watch.over():
                since = 0
                evaluate(watch, evaluation, args.eval_step)


if __name__ == "__main__":
    main()
