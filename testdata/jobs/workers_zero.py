"""num_workers left at its default of 0.

Planted: the training loop itself reads and decodes each JPEG between two steps, while the other cores idle.
Cure: num_workers >= 2.
"""

from torch.utils.data import DataLoader

import pictures
import settings
import stopwatch
import training


def make(folder):
    pictures.folder(folder, 400, 320, 240, ".jpg")


def main():
    args = stopwatch.arguments(__doc__, workers=0, batch_size=16, step=0.03)
    data = pictures.Pictures(stopwatch.dataset(args, make), 160)
    loader = DataLoader(data, **settings.chosen(
        args, batch_size=args.batch_size, shuffle=True, num_workers=args.workers))
    training.run(args, loader)


if __name__ == "__main__":
    main()
