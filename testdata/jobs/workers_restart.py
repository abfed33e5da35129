"""Workers that end with each epoch and must load their state anew.

Planted: persistent_workers left at False, epochs of some seconds, and a Dataset that reads a large JSON of annotations
on its first item: each epoch begins with that, in every worker.
Cure: persistent_workers=True.
"""

import json
import os

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import settings
import stopwatch
import training

ITEMS = 640


def make(folder):
    rng = np.random.default_rng(7)
    np.save(os.path.join(folder, "crops.npy"), rng.integers(0, 255, (ITEMS, 3, 64, 64), dtype=np.uint8))
    boxes = rng.integers(0, 640, (400000, 4)).tolist()
    annotations = [{"id": number, "image": number % ITEMS, "bbox": box, "area": box[2] * box[3], "iscrowd": 0}
                   for number, box in enumerate(boxes)]
    with open(os.path.join(folder, "instances.json"), "w") as file:
        json.dump({"annotations": annotations}, file)


class Crops(Dataset):
    def __init__(self, folder):
        self.folder = folder
        self.crops = np.load(os.path.join(folder, "crops.npy"), mmap_mode="r")
        self.boxes = None

    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        if self.boxes is None:
            with open(os.path.join(self.folder, "instances.json")) as file:
                annotations = json.load(file)["annotations"]
            self.boxes = {}
            for annotation in annotations:
                self.boxes.setdefault(annotation["image"], []).append(annotation["bbox"])
        crop = torch.from_numpy(np.array(self.crops[index])).float() / 255
        return crop, torch.tensor(self.boxes[index][:8])


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=16, step=0.04)
    data = Crops(stopwatch.dataset(args, make))
    loader = DataLoader(data, **settings.chosen(
        args, batch_size=args.batch_size, shuffle=True, num_workers=args.workers, prefetch_factor=args.prefetch))
    training.run(args, loader)


if __name__ == "__main__":
    main()
