"""A dataset that holds a function it imported before PyTorch, which the hook times, and is pickled for its workers."""

import os
from PIL import Image
from PIL.Image import open as open_picture

from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self):
        self.open = open_picture

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return self.open(os.environ["PICTURE"]).convert("L").getpixel((0, 0))


if __name__ == "__main__":
    Image.new("RGB", (16, 16), (7, 7, 7)).save(os.environ["PICTURE"])
    print(sum([int(batch.sum()) for batch in DataLoader(Pictures(), 4, num_workers=2, multiprocessing_context="spawn")]))
