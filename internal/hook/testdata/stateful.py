"""torchdata's StatefulDataLoader: stopped half-way, resumed from its state, made by fork and by spawn, with errors."""

import json
import sys
import warnings

import torch
from torch.utils.data import Dataset, IterableDataset
from torchdata.stateful_dataloader import StatefulDataLoader

warnings.simplefilter("ignore")  # torchdata calls what PyTorch has deprecated
torch.manual_seed(3)


class Squares(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        if index == 99:
            raise ValueError("no such item")
        return torch.tensor([index * index])


class Counted(IterableDataset):
    def __init__(self):
        self.at = 0

    def __iter__(self):
        while self.at < 8:
            self.at += 1
            yield self.at

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Broken(Squares):
    def __getitem__(self, index):
        return super().__getitem__(99)


def loader(data, method, **more):
    if method:
        more.update(num_workers=2, multiprocessing_context=method)
    return StatefulDataLoader(data, batch_size=4, **more)  # here


def plain(value):
    return json.dumps(value, default=lambda each: each.tolist() if hasattr(each, "tolist") else type(each).__name__)


def main():
    for method in sys.argv[1:]:
        method = method.replace("none", "")
        whole = loader(Squares(), method)
        print(method, [plain(batch) for batch in whole])
        if method == "spawn":
            continue  # each of its workers imports torch
        half = loader(Counted(), method)
        batches = iter(half)
        print(plain(next(batches)), plain(half.state_dict()))
        again = loader(Counted(), method)
        again.load_state_dict(half.state_dict())
        print([plain(batch) for batch in again])
        kept = loader(Squares(), method, **({"persistent_workers": True} if method else {}))
        print([len(list(kept)) for _ in range(3)])
        try:
            list(loader(Broken(), method))
        except ValueError as error:
            print([line for line in str(error).splitlines() if "line" not in line])
        print(vars(whole).keys() == vars(kept).keys(), isinstance(whole, torch.utils.data.DataLoader))


if __name__ == "__main__":
    main()
