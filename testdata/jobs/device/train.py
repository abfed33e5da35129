"""A training loop on the stand-in GPU of testdata/device, of which each part takes as long as it is told.

DEVICE_FREE=1 or --free keeps the first batches and goes round them: what the loop would do if data were free.
"""

import argparse
import ctypes
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time

import torch
from torch.utils.data import DataLoader

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "device"))

import cuda
import device
from work import Items, make_data, native_work, python_work

MS = 1e-3
KEPT = 8  # batches that go round where data is free
AGREED = 40  # steps from a rank's word to stop until all do, more than one can be ahead of another


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = p.add_argument
    add("--loader-ms", type=float, default=90, help="what one worker takes for a batch")
    add("--load", default="sleep", choices=("sleep", "cpu", "native", "file", "hdf5", "memory"))
    add("--batch-size", type=int, default=8)
    add("--workers", type=int, default=1)
    add("--prefetch", type=int, default=2)
    add("--restart", action="store_true", help="start the workers anew each epoch")
    add("--vary", action="store_true", help="what an item takes is distributed exponentially, with the same mean")
    add("--pin", action="store_true")
    add("--prefetcher", type=int, default=0, help="batches that a thread of the job's own takes ahead of the main one")
    add("--tensors", type=int, default=0, help="more of them in an item")
    add("--launch-ms", type=float, default=10, help="Python of the main thread while it launches")
    add("--after-ms", type=float, default=0, help="Python of the main thread after the step's kernels are launched")
    add("--device-ms", type=float, default=30)
    add("--kernels", type=int, default=4, help="into which the step's time on the device is cut")
    add("--activity", type=float, default=0.9, help="of the SMs while a kernel runs")
    add("--backward-ms", type=float, default=0, help="Python of pt_autograd_0, which launches two thirds of the work")
    add("--backward-native-ms", type=float, default=0, help="the same without the GIL")
    add("--backward-beside", action="store_true", help="go on to the next forward pass beside it")
    add("--forward-native-ms", type=float, default=0, help="of the main thread, without the GIL")
    add("--sync", default="spin", choices=tuple(device.SYNCS))
    add("--sync-every", type=int, default=1, help="steps; 0: never")
    add("--amp", action="store_true", help="wait before the optimizer's kernels too, as a gradient scaler does")
    add("--copy-mb", type=float, default=0)
    add("--copy", default="pageable", choices=("pageable", "pinned", "beside"))
    add("--ranks", type=int, default=1)
    add("--same-gpu", action="store_true")
    add("--slow-rank", type=int, default=-1, help="whose loader takes --slow-ms")
    add("--slow-ms", type=float, default=0)
    add("--collective-ms", type=float, default=0)
    add("--epoch-steps", type=int, default=100000)
    add("--eval-steps", type=int, default=0, help="after each epoch")
    add("--eval-every", type=int, default=0, help="after so many steps of an epoch too, with workers of its own")
    add("--keep-evaluation", action="store_true", help="its workers live on where those of training are started anew")
    add("--beside-ms", type=float, default=0, help="a second loader, zipped with the first: what its worker takes")
    add("--free", action="store_true", default=os.environ.get("DEVICE_FREE") == "1")
    add("--seconds", type=float, default=60)
    add("--data", default="/var/tmp/pipetune-jobs/device")
    add("--truth", default="", help="file for the truth, written at the end; other ranks append their number")
    return p.parse_args()


def name_thread(name):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)


class Autograd:
    """The thread that a backward pass runs in. Who waits for it sleeps in a lock without a time-out, as in PyTorch."""

    def __init__(self):
        self.asked, self.done = threading.Semaphore(0), threading.Lock()
        self.pending = False
        self.task = None
        self.done.acquire()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        name_thread("pt_autograd_0")
        while True:
            self.asked.acquire()
            self.task()
            self.done.release()

    def begin(self, task):
        self.wait()
        self.task, self.pending = task, True
        self.asked.release()

    def wait(self):
        if self.pending:
            self.done.acquire()
            self.pending = False


class Loop:
    def __init__(self, args, rank):
        self.args, self.rank = args, rank
        self.gpu = device.Device(0 if args.same_gpu else rank, rank, args.sync)
        self.gpu.alloc(int(2.5 * (1 << 30)))
        cuda.install(self.gpu)
        self.autograd = Autograd() if args.backward_ms or args.backward_native_ms else None
        self.steps = 0
        self.end = time.monotonic() + args.seconds
        self.stop_file = os.path.join(os.path.dirname(args.data), "stop-%d" % os.getppid())

    def loader(self, steps, milliseconds, restart):
        a = self.args
        items = Items(a.load, milliseconds * MS / a.batch_size, steps * a.batch_size, a.data, a.vary, a.tensors)
        more = dict(prefetch_factor=a.prefetch, persistent_workers=not restart) if a.workers else {}
        return DataLoader(items, batch_size=a.batch_size, shuffle=True, num_workers=a.workers, pin_memory=a.pin, **more)

    def work(self, seconds, native, kernels, on_device):
        """Launches kernels while it takes its own time: the first soon, the last at the end of the pass."""
        for _ in range(kernels):
            python_work(seconds / kernels)
            native_work(native / kernels)
            self.gpu.launch(on_device / kernels, self.args.activity)

    def step(self):
        a, gpu = self.args, self.gpu
        size = int(a.copy_mb * 1e6)
        if size and a.copy == "beside":
            gpu.copy_beside(size)
        elif size:
            gpu.copy(size, a.copy == "pinned")
        forward = a.device_ms * MS / 3 if self.autograd else a.device_ms * MS
        self.work(a.launch_ms * MS, a.forward_native_ms * MS, a.kernels, forward)
        if self.autograd:
            python, native, backward = a.backward_ms * MS, a.backward_native_ms * MS, a.device_ms * MS - forward
            self.autograd.begin(lambda: self.work(python, native, a.kernels, backward))
            if not a.backward_beside:
                self.autograd.wait()
        if a.ranks > 1:
            gpu.collective(a.ranks, a.collective_ms * MS)
        if a.amp:
            torch.cuda.synchronize()
            gpu.launch(2 * MS, a.activity)
        if a.after_ms:
            python_work(a.after_ms * MS)
        self.steps += 1
        if a.sync_every and self.steps % a.sync_every == 0:
            torch.cuda.synchronize()
        gpu.step()

    def over(self):
        """One rank says when to stop, and all stop at the same step: a collective without all its ranks never ends."""
        if self.args.ranks == 1:
            return time.monotonic() > self.end
        if self.rank == 0 and time.monotonic() > self.end and not os.path.exists(self.stop_file):
            with open(self.stop_file + ".partial", "w") as file:
                file.write(str(self.steps + AGREED))
            os.rename(self.stop_file + ".partial", self.stop_file)
        if not os.path.exists(self.stop_file):
            return False
        with open(self.stop_file) as file:
            return self.steps >= int(file.read())

    def evaluate(self, loader):
        self.gpu.outside(1)
        with torch.no_grad():
            for _ in loader:
                self.work(self.args.launch_ms * MS / 3, 0, self.args.kernels, self.args.device_ms * MS / 3)
                torch.cuda.synchronize()
        self.gpu.outside(0)

    def run(self):
        a = self.args
        took = a.slow_ms if self.rank == a.slow_rank else a.loader_ms
        train = self.loader(a.epoch_steps, took, a.restart)
        anew = a.restart and not a.keep_evaluation
        evaluation = self.loader(a.eval_steps, a.loader_ms, anew) if a.eval_steps else None
        if a.beside_ms:
            train = Zipped(train, self.loader(a.epoch_steps, a.beside_ms, a.restart))
        if a.prefetcher:
            train = Ahead(train, a.prefetcher)
        if a.free:
            train = kept(train, a.epoch_steps)
            evaluation = evaluation and kept(evaluation, a.eval_steps)
        while True:
            for _ in self.gpu.marked(train):
                self.step()
                if self.over():
                    return
                if evaluation and a.eval_every and self.steps % a.eval_every == 0:
                    self.evaluate(evaluation)
            if evaluation:
                self.evaluate(evaluation)


def kept(loader, steps):
    """Batches that go round, and no loader beside them."""
    batches = []
    for batch in loader:
        batches.append(batch)
        if len(batches) == KEPT:
            break
    return Round(batches, steps)


class Zipped:
    """Loaders that each hand over a batch for every step."""

    def __init__(self, *loaders):
        self.loaders = loaders

    def __iter__(self):
        return zip(*self.loaders)


class Ahead:
    """A loader that a thread goes over, which hands each batch on by a queue."""

    def __init__(self, loader, most):
        self.loader, self.most = loader, most

    def __iter__(self):
        batches = queue.Queue(self.most)
        threading.Thread(target=self.take, args=(batches,), daemon=True).start()
        return iter(batches.get, None)

    def take(self, batches):
        for batch in self.loader:
            batches.put(batch)
        batches.put(None)


class Round:
    def __init__(self, batches, steps):
        self.batches, self.steps = batches, steps

    def __iter__(self):
        for i in range(self.steps):
            yield self.batches[i % len(self.batches)]


def train(args, rank):
    torch.set_num_threads(1)
    loop = Loop(args, rank)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        loop.run()
    finally:
        if args.truth:
            write(args.truth + (".%d" % rank if rank else ""))


def write(path):
    folder = next(line.split()[-1] for line in open("/proc/self/maps") if line.rstrip().endswith("/libcuda.so.1"))
    found = device.truth(device.bins(os.path.dirname(folder)))
    found["argv"] = sys.argv
    with open(path, "w") as file:
        json.dump(found, file, indent=1)


def launch(args):
    stop = os.path.join(os.path.dirname(args.data), "stop-%d" % os.getpid())
    children = []
    for rank in range(args.ranks):
        number, world = str(rank), str(args.ranks)
        environment = dict(os.environ, RANK=number, LOCAL_RANK=number, WORLD_SIZE=world, LOCAL_WORLD_SIZE=world)
        children.append(subprocess.Popen([sys.executable] + sys.argv, env=environment))
    codes = [child.wait() for child in children]
    if os.path.exists(stop):
        os.remove(stop)
    sys.exit(max(codes))


def main():
    args = arguments()
    if args.load in ("file", "hdf5"):
        args.data = "%s-%s" % (args.data, args.load)
        make_data(args.data, args.load)
    if args.ranks > 1 and "RANK" not in os.environ:
        launch(args)
    train(args, int(os.environ.get("RANK", 0)))


if __name__ == "__main__":
    main()
