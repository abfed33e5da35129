"""What the hook reads off batches of several shapes. Prints, of each, bytes, tensors in lists of one entry a sample, bytes of pictures in float32 and bytes of
float64."""

import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

list(DataLoader(TensorDataset(torch.zeros(2))))
size = sys.modules["pipetune_hook.batch"].size
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
):
    print(size(batch, 4))
