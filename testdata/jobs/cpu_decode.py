"""JPEG decoding on all cores.

Planted: as many workers as cores and one more, all of them decoding; the step is much shorter than a batch takes even
on all cores. More workers cannot help.
Cure: a cheaper decode: smaller pictures on disk, a faster decoder, decoding ahead of time.
With --workers 2 --step 0.06 it keeps up on two cores of its own, and no more.
"""

import os

from torch.utils.data import DataLoader

import pictures
import stopwatch
import training


def make(folder):
    pictures.folder(folder, 240, 640, 480, ".jpg")


def main():
    args = stopwatch.arguments(__doc__, workers=len(os.sched_getaffinity(0)) + 1, batch_size=16, step=0.015)
    data = pictures.Pictures(stopwatch.dataset(args, make), 128)
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    training.run(args, loader)


if __name__ == "__main__":
    main()
