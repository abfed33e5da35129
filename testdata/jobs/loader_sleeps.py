"""Steps per second of a real DataLoader whose items sleep for known times: loader_sleeps.py NAME...

Nothing here takes a CPU, so what a DataLoader does with the times of its workers and of its trainer can be told from what the machine
does to both. One batch is one item. The sleep of batch i follows from i alone, so that a model can be given the same times:

    constant   s
    exponential  s * -ln((h + 0.5) / 65536), h a hash of i in 0..65535
    bursty     19 batches of 20 take s, one takes 21 s; which one follows from the hash

After each so many steps of some configurations the trainer sleeps for longer, as in an evaluation, while its workers go on; that time is left out of the
rate and of the epoch's length.

Prints one line of tab-separated values for each configuration named (all of them without a name). Times are in seconds; "slept" and
"stepped" are what sleeping really took, on average, as time.sleep is always a little late.
"""

import math
import platform
import statistics
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

# name: workers, prefetch_factor, persistent, start method, in_order, shape, s, step shape, step, batches per epoch, epochs
CONFIGURATIONS = {
    "serial": (0, 0, 0, "", 1, "constant", 0.020, "constant", 0.010, 150, 1),
    "serial-bursty": (0, 0, 0, "", 1, "bursty", 0.010, "constant", 0.010, 12, 12),
    "one-worker": (1, 2, 0, "fork", 1, "constant", 0.020, "constant", 0.010, 200, 1),
    "balanced": (2, 2, 0, "fork", 1, "constant", 0.020, "constant", 0.010, 300, 1),
    "step-bound": (4, 2, 0, "fork", 1, "constant", 0.020, "constant", 0.010, 300, 1),
    "worker-bound": (4, 2, 0, "fork", 1, "constant", 0.040, "constant", 0.005, 400, 1),
    "worker-bound-deep": (4, 8, 0, "fork", 1, "constant", 0.040, "constant", 0.005, 400, 1),
    "exponential-2x1": (2, 1, 0, "fork", 1, "exponential", 0.020, "constant", 0.010, 300, 1),
    "exponential-4x1": (4, 1, 0, "fork", 1, "exponential", 0.040, "constant", 0.010, 300, 1),
    "exponential-4x2": (4, 2, 0, "fork", 1, "exponential", 0.040, "constant", 0.010, 300, 1),
    "exponential-4x8": (4, 8, 0, "fork", 1, "exponential", 0.040, "constant", 0.010, 300, 1),
    "exponential-3x4": (3, 4, 0, "fork", 1, "exponential", 0.040, "exponential", 0.010, 300, 1),
    "bursty-4x1": (4, 1, 0, "fork", 1, "bursty", 0.020, "constant", 0.010, 300, 1),
    "bursty-4x2": (4, 2, 0, "fork", 1, "bursty", 0.020, "constant", 0.010, 300, 1),
    "bursty-4x8": (4, 8, 0, "fork", 1, "bursty", 0.020, "constant", 0.010, 300, 1),
    "bursty-1x4": (1, 4, 0, "fork", 1, "bursty", 0.010, "constant", 0.010, 200, 1),
    "short-restarted": (2, 2, 0, "fork", 1, "constant", 0.020, "constant", 0.010, 12, 16),
    "short-kept": (2, 2, 1, "fork", 1, "constant", 0.020, "constant", 0.010, 12, 16),
    "short-bursty-restarted": (4, 4, 0, "fork", 1, "bursty", 0.020, "constant", 0.010, 24, 12),
    "short-bursty-kept": (4, 4, 1, "fork", 1, "bursty", 0.020, "constant", 0.010, 24, 12),
    "short-exponential-kept": (3, 1, 1, "fork", 1, "exponential", 0.030, "constant", 0.010, 20, 12),
    "uneven-steps-4x1": (4, 1, 0, "fork", 1, "constant", 0.040, "bursty", 0.005, 300, 1),
    "uneven-steps-4x4": (4, 4, 0, "fork", 1, "constant", 0.040, "bursty", 0.005, 300, 1),
    "fast-batches": (2, 2, 0, "fork", 1, "constant", 0.003, "constant", 0.001, 1500, 1),
    "spawned-short": (2, 2, 0, "spawn", 1, "constant", 0.020, "constant", 0.010, 12, 4),
    "unordered-4x1": (4, 1, 0, "fork", 0, "exponential", 0.040, "constant", 0.010, 300, 1),
    "unordered-bursty-4x2": (4, 2, 0, "fork", 0, "bursty", 0.020, "constant", 0.010, 300, 1),
    "unordered-bursty-3x8": (3, 8, 0, "fork", 0, "bursty", 0.020, "constant", 0.005, 300, 1),
}

# name: as above, and steps from one pause of the trainer to the next, and its length
PAUSED = {
    "paused-2x2": ((2, 2, 0, "fork", 1, "constant", 0.040, "constant", 0.005, 300, 1), 20, 0.5),
    "paused-4x4": ((4, 4, 0, "fork", 1, "constant", 0.040, "constant", 0.005, 400, 1), 60, 1.0),
    "paused-4x8": ((4, 8, 0, "fork", 1, "constant", 0.040, "constant", 0.005, 400, 1), 60, 1.0),
    "paused-4x4-briefly": ((4, 4, 0, "fork", 1, "constant", 0.040, "constant", 0.005, 400, 1), 25, 0.05),
    "paused-exponential-4x2": ((4, 2, 0, "fork", 1, "exponential", 0.060, "constant", 0.010, 400, 1), 40, 0.6),
    "paused-bursty-4x8": ((4, 8, 0, "fork", 1, "bursty", 0.020, "constant", 0.010, 400, 1), 80, 0.8),
    "paused-short-kept": ((2, 4, 1, "fork", 1, "constant", 0.030, "constant", 0.005, 25, 12), 60, 0.5),
}

COLUMNS = ("name torch python workers prefetch persistent start in_order shape service step_shape step batches epochs slept stepped "
           "rate epoch wait first_wait create drain pause_every pause").split()


def hash16(i):
    return ((i * 2654435761) & 0xFFFFFFFF) >> 16


def times(shape, s, i):
    if shape == "exponential":
        return s * -math.log((hash16(i) + 0.5) / 65536)
    if shape == "bursty":
        return 21 * s if hash16(i) % 20 == 0 else s
    return s


class Sleeps(Dataset):
    def __init__(self, shape, s, n):
        self.shape, self.s, self.n = shape, s, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        start = time.perf_counter()
        time.sleep(times(self.shape, self.s, i))
        return torch.tensor(time.perf_counter() - start, dtype=torch.float64)


def measure(name):
    configuration, pause_every, pause = PAUSED.get(name, (CONFIGURATIONS.get(name), 0, 0.0))
    workers, prefetch, persistent, start, in_order, shape, s, step_shape, step, batches, epochs = configuration
    more = {}
    if workers:
        more = dict(prefetch_factor=prefetch, persistent_workers=bool(persistent), multiprocessing_context=start)
    if not in_order:
        more["in_order"] = False
    loader = DataLoader(Sleeps(shape, s, batches), batch_size=1, shuffle=False, num_workers=workers, **more)
    slept, stepped, waits, firsts, creates, drains, lengths, pauses = [], [], [], [], [], [], [], []
    for _ in range(epochs):
        begin = time.perf_counter()
        batch = iter(loader)
        creates.append(time.perf_counter() - begin)
        for i in range(batches + 1):
            asked = time.perf_counter()
            item = next(batch, None)
            got = time.perf_counter()
            if item is None:
                drains.append(got - asked)
                break
            (waits if i else firsts).append(got - asked)
            slept.append(float(item))
            time.sleep(times(step_shape, step, i))
            stepped.append(time.perf_counter() - got)
            if pause_every and len(stepped) % pause_every == 0:
                paused = time.perf_counter()
                time.sleep(pause)
                pauses.append(time.perf_counter() - paused)
                begin += pauses[-1]
        lengths.append(time.perf_counter() - begin)
    mean = statistics.fmean
    row = (name, torch.__version__.split("+")[0], platform.python_version(), workers, prefetch, persistent, start, in_order, shape, s,
           step_shape, step, batches, epochs, mean(slept), mean(stepped), batches * epochs / sum(lengths), mean(lengths), mean(waits),
           mean(firsts), mean(creates), mean(drains), pause_every, mean(pauses) if pauses else 0.0)
    print(*(f"{x:.6g}" if isinstance(x, float) else x for x in row), sep="\t", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    names = sys.argv[1:] or [n for n, c in CONFIGURATIONS.items() if c[4] or torch.__version__ >= "2.6"] + list(PAUSED)
    print(*COLUMNS, sep="\t")
    for name in names:
        measure(name)
