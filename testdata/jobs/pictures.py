"""Makes folders of pictures: smooth shapes with a little noise, so that they compress and decode like photographs.

And the dataset that reads and decodes one for each item.
"""

import os

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset


def picture(number, width, height, noise=6):
    """One picture, the same for the same number."""
    rng = np.random.default_rng(number)
    x = np.linspace(0, 1, width, dtype=np.float32)[None, :, None]
    y = np.linspace(0, 1, height, dtype=np.float32)[:, None, None]
    a, b, c = rng.uniform(2, 12, 3), rng.uniform(2, 12, 3), rng.uniform(0, 6, 3)
    waves = 127 + 90 * np.sin(a * x + c) * np.cos(b * y)
    grain = rng.integers(-noise, noise + 1, (height, width, 3))
    return Image.fromarray(np.clip(waves + grain, 0, 255).astype(np.uint8))


def folder(path, count, width, height, suffix, classes=4, first=0, every=1):
    """Writes count pictures below path, one folder per class as torchvision's ImageFolder wants it; of several
    processes each takes every so many, from its first on."""
    for number in range(first, count, every):
        where = os.path.join(path, "class_%d" % (number % classes))
        os.makedirs(where, exist_ok=True)
        options = {"quality": 90} if suffix == ".jpg" else {}
        picture(number, width, height).save(os.path.join(where, "%05d%s" % (number, suffix)), **options)


def listing(path):
    """All pictures below path as (file, class number), sorted."""
    found = []
    for number, name in enumerate(sorted(os.listdir(path))):
        where = os.path.join(path, name)
        found += [(os.path.join(where, file), number) for file in sorted(os.listdir(where))]
    return found


class Pictures(Dataset):
    """The pictures of a folder, scaled to a square."""

    def __init__(self, path, side):
        self.items, self.side = listing(path), side

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB").resize((self.side, self.side)))
        return torch.from_numpy(pixels.transpose(2, 0, 1).astype(np.float32) / 255), label
