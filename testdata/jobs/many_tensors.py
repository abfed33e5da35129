"""Targets of a detector, handed over as a list of small tensors.

Planted: of each sample seven tensors of a few bytes (boxes, labels, area and so on), in a list of dicts beside the stacked
pictures, as detection code's collate_fn makes it: 226 tensors a batch, each of which is a shared-memory file of its own.
Cure: --collate packed, which concatenates each field and keeps how long each sample's part is. Of small batches and short
steps, as with --batch-size 8 --step 0.015, the 9 tensors of these still cost a quarter of the step. Cure: --sharing
file_system.
"""

import torch
from torch.utils.data import DataLoader, Dataset

import stopwatch
import training

FIELDS = {"boxes": 4, "labels": 1, "area": 1, "iscrowd": 1, "image_id": 1, "orig_size": 2, "size": 2}


class Detections(Dataset):
    def __len__(self):
        return 6400

    def __getitem__(self, index):
        boxes = 1 + index % 9
        return torch.full((3, 32, 32), index % 255, dtype=torch.uint8), {name: torch.zeros(boxes, width) for name, width in FIELDS.items()}


def as_lists(samples):
    pictures, targets = zip(*samples)
    return torch.stack(pictures), list(targets)


def packed(samples):
    pictures, targets = zip(*samples)
    lengths = torch.tensor([len(target["boxes"]) for target in targets])
    return torch.stack(pictures), lengths, {name: torch.cat([target[name] for target in targets]) for name in FIELDS}


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=32, step=0.03, collate="lists", sharing="file_descriptor")
    torch.multiprocessing.set_sharing_strategy(args.sharing)
    loader = DataLoader(Detections(), batch_size=args.batch_size, shuffle=True, num_workers=args.workers, persistent_workers=True,
                        prefetch_factor=args.prefetch, collate_fn=as_lists if args.collate == "lists" else packed)
    training.run(args, loader)


if __name__ == "__main__":
    main()
