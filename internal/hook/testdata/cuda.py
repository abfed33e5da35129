"""A loop on a torch.cuda that only pretends: there is no GPU, but the calls a trainer makes of it are there."""

import sys
import time

import torch
from torch.utils.data import DataLoader


class Event:
    """Passed as soon as it is asked for, for there is nothing to wait for."""

    def __init__(self, enable_timing=False):
        assert enable_timing

    def record(self):
        self.at = time.monotonic()

    def query(self):
        return True

    def elapsed_time(self, other):
        return 1000 * (other.at - self.at)


class OnDevice(torch.Tensor):
    is_cuda = True


def main():
    torch.cuda.is_initialized = lambda: True
    torch.cuda.Event = Event
    torch.cuda.synchronize = lambda device=None: time.sleep(0.002)
    total = 0.0
    for batch in DataLoader([torch.tensor(float(each)) for each in range(100)], batch_size=1):
        time.sleep(0.004)
        total += batch.as_subclass(OnDevice).item()
        total += batch.item()
        torch.cuda.synchronize()
    print(total, torch.Tensor.item.__name__, batch.tolist(), batch.cpu())
    if hasattr(torch, "compile"):
        compiled()


def compiled():
    """The wrapped methods must mean to torch.compile what they meant before."""

    def function(tensor):
        there = tensor.sin()
        return (there.cpu() + 1) * 2 + there.sum().item()

    tensor = torch.arange(4.0)
    assert torch.equal(torch.compile(function, backend="eager")(tensor), function(tensor))
    print("graph breaks", torch._dynamo.explain(function)(tensor).graph_break_count)
    torch._dynamo.reset()
    torch._dynamo.config.capture_scalar_outputs = True
    print(torch.compile(function, backend="eager", fullgraph=True)(tensor))


main()
