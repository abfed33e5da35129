"""One worker where the machine has idle cores.

Planted: num_workers=1, and one worker needs three times as long for a batch as the step takes. Each item is a small
read plus augmentation on the CPU.
Cure: more workers, up to what the cores allow.
"""

import os

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import settings
import stopwatch
import training

ITEMS = 4000


def make(folder):
    rng = np.random.default_rng(3)
    np.save(os.path.join(folder, "signals.npy"), rng.standard_normal((ITEMS, 4096), dtype=np.float32))


class Signals(Dataset):
    """Windows of a signal, their spectrum computed on the fly."""

    def __init__(self, folder):
        self.signals = np.load(os.path.join(folder, "signals.npy"), mmap_mode="r")

    def __len__(self):
        return len(self.signals)

    def __getitem__(self, index):
        signal = np.array(self.signals[index])
        frames = np.lib.stride_tricks.sliding_window_view(signal, 512)[::32] * np.hanning(512)
        spectrum = np.log1p(np.abs(np.fft.rfft(frames, axis=1)))
        stopwatch.burn(0.0015)  # time stretching in pure Python
        return torch.from_numpy(spectrum.astype(np.float32)), index % 10


def main():
    args = stopwatch.arguments(__doc__, workers=1, batch_size=32, step=0.03)
    data = Signals(stopwatch.dataset(args, make))
    loader = DataLoader(data, **settings.chosen(
        args, batch_size=args.batch_size, shuffle=True, num_workers=args.workers, prefetch_factor=args.prefetch,
        persistent_workers=True))
    training.run(args, loader)


if __name__ == "__main__":
    main()
