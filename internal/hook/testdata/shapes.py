"""What the hook reads off batches of several shapes. Prints, of each, bytes, tensors, tensors in lists of one entry a sample, bytes of pictures in float32 and bytes of
float64."""

import sys

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

list(DataLoader(TensorDataset(torch.zeros(2))))
size, alone = sys.modules["pipetune_hook.batch"].size, sys.modules["pipetune_hook.batch"].alone
pictures, labels = torch.zeros(4, 3, 2, 2), torch.zeros(4, dtype=torch.int64)
targets = [{"boxes": torch.zeros(each + 1, 4), "area": torch.zeros(1)} for each in range(4)]
for batch in (
    [pictures, labels],
    (pictures, targets),
    {"a": labels, "b": labels, "c": labels, "d": labels, "e": labels},  # fields, however many
    [[torch.zeros(3, 2, 2) for _ in range(4)], labels],
    [pictures.double().numpy(), labels.double()],
    [targets, {"x": object()}],
    object(),
    {"image": pictures.as_subclass(type("Own", (torch.Tensor,), {})), "label": labels},  # is of unknown size
):
    print(size(batch, 4))


class Pictures(Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, i):
        return torch.zeros(3, 2, 2), i


class Batches(Pictures):
    def __getitem__(self, i):
        return torch.zeros(4, 3, 2, 2), torch.zeros(4)


for each in (
    (pictures[0], 1),
    (pictures[0], torch.tensor(1), 2.5),
    [pictures, labels],
    (pictures, targets),
    (pictures[0],),
    {"image": pictures[0], "label": 1},
    pictures[0],
):
    print(alone(each), end=" ")
loops = sys.modules["pipetune_hook.state"].process.loops
for dataset, how in (
    (Pictures(), {"batch_size": None}),  # single samples
    (Batches(), {"batch_size": None}),  # batches that the dataset keeps
    (Pictures(), {"batch_sampler": [[0, 1, 2], [3, 4]], "collate_fn": lambda held: (torch.zeros(len(held), 2), 7)}),
):
    list(DataLoader(dataset, **how))
    print(max(loops.values(), key=lambda loop: loop.number).samples, end=" ")
