"""Real DataLoader runs that predictions are held against: calibrate.py [CONFIGURATION], else one configuration a line on the standard input.

A configuration is a workload of WORKLOADS with a setting of its DataLoader, as JSON:

    {"workload": "cpu-short", "workers": 3, "prefetch": 4, "persistent": false, "start": "fork", "seconds": 6, "epochs": 3, "settle": true}

Its loader is made anew, goes over a few batches to settle where that is asked for, and then over whole epochs until both the seconds and the
epochs are reached. The answer is one line of JSON: how many steps that were, in how many seconds, the mean wait of a step for its batch, and
of each epoch its steps and the seconds of all of it, of iter(), of the wait for its first batch, and of the __next__ that ended it. One
process answers many configurations, as importing torch takes longer than some of them.

The work is real: what computes inflates and transforms arrays, so that two workers share caches and memory, and what waits sleeps, as
requests to a distant store do. How long item i takes follows from i alone; each epoch has the same items in another order.
"""

import json
import math
import platform
import sys
import time
import zlib

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

BATCH = 8  # items
SIGNAL = 4096  # values of an item before it is transformed
WIDTH = 512  # values of an item
SETTLE = 6  # batches, and at least so many as may be under way

# name: batches of an epoch; of an item, rounds of computing, and waiting with its shape; of a step, rounds of computing and the device's time
WORKLOADS = {
    "cpu-short": (20, 3, 0.0, "", 2, 0.008),
    "cpu-long": (160, 2, 0.0, "", 1, 0.005),
    "io-short": (24, 0, 0.004, "exponential", 2, 0.010),
    "io-long": (160, 0, 0.003, "exponential", 1, 0.006),
    "mixed-short": (20, 1, 0.003, "exponential", 4, 0.006),
    "mixed-long": (160, 1, 0.002, "exponential", 2, 0.005),
    "bursty-short": (24, 0, 0.001, "bursty", 2, 0.010),
    "bursty-long": (160, 1, 0.001, "bursty", 1, 0.006),
}


def hash16(i):
    return ((i * 2654435761) & 0xFFFFFFFF) >> 16


def wait_of(shape, seconds, i):
    """Seconds that item i waits; the mean is seconds for exponential, and twice that for bursty, where one item in 40 takes 41 times as long."""
    if shape == "exponential":
        return seconds * -math.log((hash16(i) + 0.5) / 65536)
    if shape == "bursty":
        return 41 * seconds if hash16(i) % 40 == 0 else seconds
    return seconds


def compute(packed, rounds):
    """About 1.2 ms of one core for each round: inflating, spectra, and a little plain Python."""
    total = np.zeros(WIDTH)
    for _ in range(rounds):
        signal = np.frombuffer(zlib.decompress(packed), dtype=np.float32)
        frames = np.lib.stride_tricks.sliding_window_view(signal, 2 * WIDTH - 2)[::64]
        total += np.abs(np.fft.rfft(frames, axis=1)).sum(axis=0)
        sum(x & 7 for x in range(2000))
    return total


class Items(Dataset):
    def __init__(self, workload):
        self.batches, self.rounds, self.seconds, self.shape = WORKLOADS[workload][:4]
        self.packed = packed()

    def __len__(self):
        return self.batches * BATCH

    def __getitem__(self, i):
        if self.seconds:
            time.sleep(wait_of(self.shape, self.seconds, i))
        return torch.from_numpy(compute(self.packed, self.rounds))


def packed():
    noise = np.random.default_rng(5).standard_normal(SIGNAL).astype(np.float32)
    return zlib.compress(np.round(noise, 1).tobytes(), 1)


class Batches:
    """The sampler: all items in another order each epoch, or just the first few batches while it settles."""

    batch_size, drop_last = BATCH, False

    def __init__(self, batches):
        self.batches, self.limit, self.epoch = batches, 0, 0

    def __iter__(self):
        self.epoch += 1
        order = np.random.default_rng(self.epoch).permutation(self.batches * BATCH).tolist()
        for i in range(self.limit or self.batches):
            yield order[i * BATCH:(i + 1) * BATCH]

    def __len__(self):
        return self.limit or self.batches


def go_over(loader, rounds, device, data):
    """One epoch. Returns its steps, and the seconds of all of it, of iter(), of the first wait and of its end; and those of all waits."""
    begin = time.perf_counter()
    batches = iter(loader)
    asked = time.perf_counter()
    create, first, waits, steps = asked - begin, 0.0, 0.0, 0
    while True:
        batch = next(batches, None)
        got = time.perf_counter()
        if batch is None:
            return (steps, got - begin, create, first, got - asked), waits
        first = first or got - asked
        waits += got - asked
        steps += 1
        compute(data, rounds)
        time.sleep(device)
        asked = time.perf_counter()


def run(c):
    batches, _, _, _, rounds, device = WORKLOADS[c["workload"]]
    sampler, data = Batches(batches), Items(c["workload"])
    more = {}
    if c["workers"]:
        more = dict(prefetch_factor=c["prefetch"], persistent_workers=c["persistent"], multiprocessing_context=c["start"])
    loader = DataLoader(data, batch_sampler=sampler, num_workers=c["workers"], **more)
    if c["settle"]:
        sampler.limit = min(batches, max(SETTLE, c["workers"] * c["prefetch"] + 2))
        go_over(loader, rounds, device, data.packed)
        sampler.limit = 0
    epochs, waits, begin = [], 0.0, time.perf_counter()
    while time.perf_counter() - begin < c["seconds"] or len(epochs) < c["epochs"]:
        epoch, waited = go_over(loader, rounds, device, data.packed)
        epochs.append(epoch)
        waits += waited
    seconds, steps = time.perf_counter() - begin, sum(e[0] for e in epochs)
    return {"steps": steps, "seconds": seconds, "wait": waits / steps, "epochs": epochs, "torch": torch.__version__.split("+")[0],
            "python": platform.python_version()}


def main():
    torch.set_num_threads(1)
    for line in sys.argv[1:] or sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
