"""What PyTorch 2 adds to a training loop: compiling by inductor, export, batches in whatever order they are ready.

Its output says how many graphs Dynamo made of the model and the optimizer, and how often it broke one: the hook is to change none of that."""

import time

import torch
from torch._dynamo.utils import counters
from torch.utils.data import DataLoader, Dataset


class Items(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        return torch.sin(torch.arange(8.0) * (index + 1))


class Late(Items):
    """The first batch is made slowly."""

    def __getitem__(self, index):
        time.sleep(0.5 if index < 4 else 0)
        return torch.tensor(index)


def said(what):
    breaks = sum(counters["graph_break"].values())
    print(what, "graphs", counters["stats"]["unique_graphs"], "breaks", breaks, "frames", dict(counters["frames"]))
    counters.clear()
    torch._dynamo.reset()


def training(what, workers, **options):
    """A model and its optimizer's step compiled, fed by a loader."""
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    compiled, update = torch.compile(model, **options), torch.compile(optimizer.step)
    for epoch in range(2):
        for batch in DataLoader(Items(), batch_size=4, num_workers=workers):  # here
            optimizer.zero_grad()
            loss = compiled(batch).square().mean()
            loss.backward()
            update()
        print(what, epoch, "%.6f" % loss.item())
    said(what)


def loop():
    """The loop over the loader is compiled with what is in it."""

    @torch.compile
    def total(batches):
        found = torch.zeros(8)
        for batch in batches:
            found = found + (batch * 2).sum(0)
        return found

    for workers in (0, 2):
        print(["%.4f" % each for each in total(DataLoader(Items(), batch_size=4, num_workers=workers))])
    counters.clear()  # of PyTorch's own loader Dynamo compiles pieces, which it leaves alone within the hook's wrappers
    torch._dynamo.reset()


def export():
    """A model is exported in the middle of a loop, and what was exported gets the rest of the batches."""
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Tanh())
    exported = None
    for batch in DataLoader(Items(), batch_size=4):
        if exported is None:
            exported = torch.export.export(model, (batch,))
            print(exported.graph_module.code.strip())
        print("%.6f" % exported.module()(batch).sum().item())
    said("export")


def any_order():
    loader = DataLoader(Late(), batch_size=4, num_workers=2, in_order=False)  # in any order
    came = [int(batch[0]) for batch in loader]
    print(sorted(came), "the slow one first:", came[0] == 0)


def main():
    torch.set_num_threads(1)
    training("inductor", 2)
    training("whole", 0, fullgraph=True)
    training("graphs of CUDA where there are any", 0, mode="reduce-overhead")
    loop()
    export()
    any_order()


main()
