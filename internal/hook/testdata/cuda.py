"""A loop on a torch.cuda that only pretends: there is no GPU, but the calls a trainer makes of it are there.

It has two GPUs, of which the current one comes to be used only as the second loader is gone over; an event on one without a context makes one."""

import contextlib
import copy
import pickle
import time

import torch
from torch.utils.data import DataLoader


contexts = {1}  # GPUs that have one
current = [0]
capturing = [False]


class Event:
    """Passed as soon as it is asked for, for there is nothing to wait for."""

    def __init__(self, enable_timing=False):
        assert enable_timing
        self.gpu = None

    def record(self):
        assert not capturing[0], "an event in a graph"
        contexts.add(current[0])
        assert self.gpu in (None, current[0]), "an event of another GPU"
        self.gpu = current[0]
        self.at = time.monotonic()

    def query(self):
        assert not capturing[0], "asked for while a graph is captured"
        return True

    def elapsed_time(self, other):
        assert self.gpu == other.gpu, "events of two GPUs"
        return 1000 * (other.at - self.at)


class OnDevice(torch.Tensor):
    is_cuda = True


def main():
    torch.cuda.is_initialized = lambda: True
    torch.cuda.current_device = lambda: current[0]
    torch.cuda.is_current_stream_capturing = lambda: capturing[0]
    torch.cuda.Event = Event
    torch.cuda._lazy_init = lambda: None
    torch.cuda.device = contextlib.nullcontext
    torch._C._cuda_synchronize = lambda: time.sleep(0.002)
    torch._C._cuda_hasPrimaryContext = lambda index: index in contexts
    total = 0.0
    for batch in DataLoader(range(100), batch_size=1):
        time.sleep(0.006)
    print("GPUs with a context", contexts)
    current[0] = 1
    for batch in DataLoader([torch.tensor(float(each)) for each in range(100)], batch_size=1):
        time.sleep(0.004)
        total += batch.as_subclass(OnDevice).item()
        total += batch.item()
        torch.cuda.synchronize()
    assert pickle.loads(pickle.dumps(HELD)) is HELD is torch.cuda.synchronize
    for batch in DataLoader(range(80), batch_size=1):
        current[0] = int(batch) // 40
        contexts.add(current[0])
        capturing[0] = int(batch) % 5 == 3
        time.sleep(0.006)
    print(total, torch.Tensor.item.__name__, batch.tolist(), batch.cpu())
    subclasses()
    if hasattr(torch, "compile"):
        compiled()


HELD = torch.cuda.synchronize
NOTED = [torch.Tensor.cpu, torch.Tensor.item, torch.Tensor.tolist]  # before CUDA is in use, as libraries note them at their import
HANDLED = {torch.Tensor.cpu: "cpu", torch.Tensor.item: "item", torch.Tensor.tolist: "tolist"}


class Asking(torch.Tensor):
    """A subclass that tells methods apart."""

    asked = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        now = [torch.Tensor.cpu, torch.Tensor.item, torch.Tensor.tolist]
        cls.asked.append((function.__name__, function in NOTED, HANDLED.get(function), any(function is each for each in now)))
        return super().__torch_function__(function, types, args, kwargs or {})


def subclasses():
    """The wrapped methods must be to subclasses what they were before."""
    tensor = torch.arange(3.0).as_subclass(Asking)
    type(tensor.cpu()), tensor.sum().item(), torch.Tensor.tolist(tensor)
    print(Asking.asked)
    lazy = torch.nn.parameter.UninitializedParameter()
    print(type(lazy.cpu()).__name__)
    for method in (torch.Tensor.item, torch.Tensor.cpu):
        try:
            print(method(lazy))
        except ValueError as error:
            print(str(error)[:40])
        try:
            method()
        except TypeError as error:
            print(error)
        print(pickle.loads(pickle.dumps(method)) is method, copy.deepcopy(method) is method, method in NOTED, NOTED.index(method), repr(method))
    print(torch.nn.Parameter(torch.ones(2)).cpu(), torch.ones(2).to_sparse().cpu())


def synchronized(tensor):
    torch.cuda.synchronize()
    return tensor + 1


def compiled():
    """The wrapped methods must mean to torch.compile what they meant before."""

    def function(tensor):
        there = tensor.sin()
        return (there.cpu() + 1) * 2 + there.sum().item()

    tensor = torch.arange(4.0)
    assert torch.equal(torch.compile(function, backend="eager")(tensor), function(tensor))
    try:
        print(torch.compile(synchronized, backend="eager", fullgraph=True)(tensor))
    except Exception as error:
        print(type(error).__name__)
    print("graph breaks", torch._dynamo.explain(function)(tensor).graph_break_count)
    torch._dynamo.reset()
    torch._dynamo.config.capture_scalar_outputs = True
    print(torch.compile(function, backend="eager", fullgraph=True)(tensor))


main()
