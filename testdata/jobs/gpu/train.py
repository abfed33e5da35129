"""A training loop on a real GPU, of which each part can be told, and which notes what its device really did.

The truth is a row for each step, in seconds of CLOCK_MONOTONIC: when a batch was asked for and got, and, by CUDA
events, when the device began with the step, had its copy and was done. SIGUSR1 ends the loop and measures it with
batches that it has kept: what it would do if data were free.
"""

import argparse
import json
import os
import queue
import signal
import sys
import threading
import time
import warnings

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

MS = 1e-3
KEPT = 8  # batches that go round where data is free
SIDE = 64  # pixels
PROFILED = 20  # steps


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = p.add_argument
    add("--device", default="cuda")
    add("--model", default="conv", choices=("conv", "transformer", "small"))
    add("--width", type=int, default=2048, help="of the transformer; of 512 a large GPU waits for the host")
    add("--amp", action="store_true", help="half precision and a gradient scaler")
    add("--compile", action="store_true")
    add("--graph", action="store_true", help="replay a CUDA graph")
    add("--batch-size", type=int, default=32)
    add("--device-ms", type=float, default=30, help="passes are repeated until a step takes this; 0: one pass")
    add("--after-ms", type=float, default=0, help="Python of the main thread in each step")
    add("--sync-every", type=int, default=1, help="steps; 0: never")
    add("--sync", default="spin", choices=("spin", "block", "item"))
    add("--pin", action="store_true", help="pinned batches, copied without waiting")
    add("--copy-mb", type=float, default=0, help="beside the batch, pageable unless --pin")
    add("--loader-ms", type=float, default=30, help="what one worker takes for a batch")
    add("--load", default="sleep", choices=("sleep", "cpu"))
    add("--workers", type=int, default=1)
    add("--prefetcher", type=int, default=0, help="batches that a thread of the job's own takes ahead of the main one")
    add("--free", action="store_true", help="go round kept batches from the start")
    add("--seconds", type=float, default=60)
    add("--free-seconds", type=float, default=4, help="after SIGUSR1")
    add("--profile", action="store_true", help="the kernels' time of %d steps, after the free ones" % PROFILED)
    add("--go", default="", help="begin when this file is there; a number in it is how often passes are repeated")
    add("--ready", default="", help="file that is made once the loop goes")
    add("--truth", default="", help="file for the truth, written at the end")
    return p.parse_args()


def python_work(seconds):
    """Runs bytecode for so much CPU time of the calling thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(300))


class Items(Dataset):
    def __init__(self, seconds, cpu):
        self.seconds, self.cpu = seconds, cpu
        self.pictures = torch.rand(64, 3, SIDE, SIDE)

    def __len__(self):
        return 1 << 22

    def __getitem__(self, index):
        if self.cpu:
            python_work(self.seconds)
        else:
            time.sleep(self.seconds)
        return self.pictures[index % 64], index % 10


class Ahead:
    """Batches that a thread takes from a loader, ahead of who goes round them."""

    def __init__(self, loader, ahead):
        self.loader, self.queue = loader, queue.Queue(ahead)

    def take(self):
        for batch in self.loader:
            self.queue.put(batch)

    def __iter__(self):
        threading.Thread(target=self.take, daemon=True).start()
        while True:
            yield self.queue.get()


class Transformer(nn.Module):
    def __init__(self, width):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True)
        self.into, self.layers, self.out = nn.Linear(192, width), nn.TransformerEncoder(layer, 4), nn.Linear(width, 10)

    def forward(self, x):
        return self.out(self.layers(self.into(x.reshape(x.shape[0], SIDE, -1))).mean(1))


def model_of(kind, width):
    if kind == "transformer":
        return Transformer(width)
    if kind == "small":  # many short kernels: the host cannot launch them fast enough
        layers = [nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(48, 64)]
        for _ in range(150):
            layers += [nn.Linear(64, 64), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(64, 10))
    layers, last = [], 3
    for width in (64, 128, 128, 256):
        layers += [nn.Conv2d(last, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
        last = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, 10))


def event():
    return torch.cuda.Event(enable_timing=True)


def anchor():
    """An event and the moment of CLOCK_MONOTONIC at which it was, the best of a few tries."""
    best = None
    for _ in range(7):
        torch.cuda.synchronize()
        mark, before = event(), time.monotonic()
        mark.record()
        mark.synchronize()
        after = time.monotonic()
        if best is None or after - before < best[2]:
            best = (mark, (before + after) / 2, after - before)
    return best


class Loop:
    def __init__(self, args):
        self.args = args
        self.model = model_of(args.model, args.width).to(args.device)
        self.call = torch.compile(self.model) if args.compile else self.model
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)
        self.scaler = torch.cuda.amp.GradScaler(enabled=args.amp)
        self.repeats, self.steps, self.loss = 1, 0, None
        self.rows, self.kept = [], []
        self.over = self.to_free = False
        size = int(args.copy_mb * 1e6)
        self.host = torch.empty(size, dtype=torch.uint8, pin_memory=args.pin) if size else None
        if size:
            self.host.fill_(1)
            self.there = torch.empty(size, dtype=torch.uint8, device=args.device)

    def passes(self, x, y):
        for _ in range(self.repeats):
            with torch.cuda.amp.autocast(enabled=self.args.amp):
                self.loss = F.cross_entropy(self.call(x), y)
            self.scaler.scale(self.loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)

    def prepare(self, repeats):
        """Warms up, finds how often to repeat, captures the graph."""
        a = self.args
        x = torch.rand(a.batch_size, 3, SIDE, SIDE, device=a.device)
        y = torch.zeros(a.batch_size, dtype=torch.long, device=a.device)
        # What a backward pass has once run on the default stream, a capture may not touch: all of it is on another one.
        side = torch.cuda.Stream() if a.graph else None
        with torch.cuda.stream(side):
            torch.cuda.synchronize()
            for _ in range(5):
                self.passes(x, y)
            torch.cuda.synchronize()
            begun = time.monotonic()
            for _ in range(5):
                self.passes(x, y)
            torch.cuda.synchronize()
            took = (time.monotonic() - begun) / 5
            self.repeats = repeats or max(1, round(a.device_ms * MS / took))
        if not a.graph:
            return
        self.loss = None
        self.static, self.captured = (x, y), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.captured):
            self.passes(x, y)

    def step(self, batch):
        """Launches a step; returns its three events."""
        a, marks = self.args, (event(), event(), event())
        marks[0].record()
        if self.host is not None:
            self.there.copy_(self.host, non_blocking=a.pin)
        if a.graph:
            for static, new in zip(self.static, batch):
                static.copy_(new, non_blocking=a.pin)
        else:
            x, y = (part.to(a.device, non_blocking=a.pin) for part in batch)
        marks[1].record()
        if a.graph:
            self.captured.replay()
        else:
            self.passes(x, y)
        marks[2].record()
        if a.after_ms:
            python_work(a.after_ms * MS)
        self.steps += 1
        if a.sync_every and self.steps % a.sync_every == 0:
            self.wait()
        return marks

    def wait(self):
        if self.args.sync == "item" and self.loss is not None:
            self.loss.item()
        elif self.args.sync == "block":
            mark = torch.cuda.Event(blocking=True)
            mark.record()
            mark.synchronize()
        else:
            torch.cuda.synchronize()

    def loader(self):
        a = self.args
        items = Items(a.loader_ms * MS / a.batch_size, a.load == "cpu")
        more = dict(prefetch_factor=2, persistent_workers=True) if a.workers else {}
        batches = DataLoader(items, a.batch_size, shuffle=False, num_workers=a.workers, pin_memory=a.pin, **more)
        return Ahead(batches, a.prefetcher) if a.prefetcher else batches

    def train(self):
        """Goes on until time is up, or a signal says so."""
        batches = iter(self.loader())
        begun = None
        while not (self.over or self.to_free):
            ask = time.monotonic()
            new = next(batches) if len(self.kept) < KEPT or not self.args.free else self.kept[self.steps % KEPT]
            got = time.monotonic()
            batch = new  # here the batch before is freed, which is no wait for this one
            begun = begun or got
            if len(self.kept) < KEPT:
                self.kept.append(batch)
            self.rows.append((ask, got, self.step(batch)))
            if self.args.ready and got - begun > 1.5 and len(self.rows) >= 5:
                write(self.args.ready, {"pid": os.getpid(), "repeats": self.repeats})
                self.args.ready = ""
            if got - begun > self.args.seconds:
                return

    def free(self, seconds):
        """Steps per second with data for free."""
        torch.cuda.synchronize()
        begun, count = time.monotonic(), 0
        while time.monotonic() - begun < seconds:
            self.step(self.kept[count % len(self.kept)])
            count += 1
        torch.cuda.synchronize()
        return count / (time.monotonic() - begun)

    def profile(self):
        """Seconds of kernels in a step, each counted for itself, copies and settings of memory apart."""
        kinds = torch.profiler.ProfilerActivity
        with torch.profiler.profile(activities=[kinds.CUDA]) as found:
            for i in range(PROFILED):
                self.step(self.kept[i % len(self.kept)])
            torch.cuda.synchronize()
        total = 0.0
        for e in found.key_averages():
            if not e.key.startswith(("Memcpy", "Memset", "cuda")):
                total += getattr(e, "self_device_time_total", 0) or getattr(e, "self_cuda_time_total", 0)
        return total / 1e6 / PROFILED


def write(path, what):
    with open(path + ".partial", "w") as file:
        json.dump(what, file)
    os.rename(path + ".partial", path)


def steps_of(rows, first, last):
    """The rows with their events as moments of CLOCK_MONOTONIC, the device's clock fitted between two anchors."""
    span = first[0].elapsed_time(last[0]) * MS
    scale = (last[1] - first[1]) / span
    out = []
    for ask, got, marks in rows:
        out.append([ask, got] + [first[1] + first[0].elapsed_time(mark) * MS * scale for mark in marks])
    return out, scale


def wait_for(path):
    parent = os.getppid()
    while not os.path.exists(path):
        time.sleep(0.02)
        if os.getppid() != parent:
            sys.exit("who started this is gone")
    with open(path) as file:
        return int(file.read() or 0)


def main():
    args = arguments()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    repeats = wait_for(args.go) if args.go else 0
    loop = Loop(args)
    loop.prepare(repeats)
    signal.signal(signal.SIGUSR1, lambda *_: setattr(loop, "to_free", True))
    signal.signal(signal.SIGTERM, lambda *_: setattr(loop, "over", True))
    first = anchor()
    loop.train()
    last = anchor()
    found = {"argv": sys.argv[1:], "repeats": loop.repeats, "torch": torch.__version__, "anchor_s": [first[2], last[2]]}
    found["steps"], found["clock_scale"] = steps_of(loop.rows, first, last)
    loop.rows = []
    if loop.to_free:
        found["free_steps_per_s"] = loop.free(args.free_seconds)
        if args.profile:
            try:
                found["kernel_s_per_step"] = loop.profile()
            except Exception as e:  # the profiler is not everywhere allowed to look
                found["no_profile"] = repr(e)
    if args.truth:
        write(args.truth, found)


if __name__ == "__main__":
    main()
