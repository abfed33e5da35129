"""The stand-in GPU of this folder for jobs: what is queued on it, and the truth of what it did.

ctypes lets go of the GIL while it calls, as PyTorch does around CUDA calls that may wait.

    python3 device.py truth FOLDER [FROM TO]    what the ranks on FOLDER's device did, as JSON
    python3 device.py bins FOLDER               the same in bins of 100 ms

FROM and TO are seconds of CLOCK_MONOTONIC.
"""

import ctypes
import json
import os
import sys

SPIN, YIELD, BLOCK = 0, 1, 2
SYNCS = {"spin": SPIN, "yield": YIELD, "block": BLOCK}

# The order of enum what in timeline.h. The first seven exclude each other and add up to the time.
WHATS = (
    "busy", "comm", "spin", "others", "idle_copy", "starved", "idle",
    "waited", "copied", "unfed", "outside", "steps",
)
MAX_SLOTS, BINS = 16, 8192
INT, I64, U64, DOUBLE = ctypes.c_int, ctypes.c_int64, ctypes.c_uint64, ctypes.c_double


def library(folder=""):
    """Loads the libcuda of a folder, or the one the linker finds."""
    lib = ctypes.CDLL(os.path.join(folder, "libcuda.so.1"), use_errno=True)
    for name, result, *arguments in (
        ("dev_attach", INT), ("dev_open", INT, INT, INT), ("dev_alloc", None, U64), ("dev_stream", INT),
        ("dev_launch", I64, INT, I64, DOUBLE), ("dev_collective", I64, INT, INT, I64, INT, I64, DOUBLE),
        ("dev_record", I64, INT), ("dev_wait", I64, INT, INT, I64), ("dev_query", INT, INT, I64),
        ("dev_time", I64, INT, I64), ("dev_sync", None, INT, I64, INT), ("dev_copy", I64, INT, U64, INT),
        ("dev_waiting", None, INT), ("dev_outside", None, INT), ("dev_step", I64, INT),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


class Device:
    """One GPU as one process uses it. Times are seconds."""

    def __init__(self, index=0, rank=0, sync="spin", folder=""):
        self.lib = library(folder)
        self.index = index
        self.sync_kind = SYNCS[sync]
        if self.lib.dev_open(index, rank):
            raise OSError(ctypes.get_errno(), "no stand-in GPU %d" % index)
        self.stream = self.lib.dev_stream()
        self.copies = self.lib.dev_stream()
        self.rounds = 0

    def launch(self, seconds, activity=0.9):
        return self.lib.dev_launch(self.stream, int(seconds * 1e9), activity)

    def collective(self, ranks, seconds, activity=0.06):
        self.rounds += 1
        return self.lib.dev_collective(self.stream, 0, self.rounds, ranks, int(seconds * 1e9), activity)

    def copy(self, size, pinned):
        """Copies in the stream of the kernels."""
        return self.lib.dev_copy(self.stream, size, pinned)

    def copy_beside(self, size):
        """Copies from pinned memory in a stream of its own; what is launched from now on waits for it."""
        number = self.lib.dev_copy(self.copies, size, 1)
        self.lib.dev_wait(self.stream, self.copies, number)
        return number

    def sync(self, number=-1):
        self.lib.dev_sync(self.stream, number, self.sync_kind)

    def alloc(self, size):
        self.lib.dev_alloc(size)

    def marked(self, loader):
        """Goes over a loader and notes when the rank waits for its next batch."""
        self.lib.dev_waiting(1)
        batches = iter(loader)
        while True:
            self.lib.dev_waiting(1)
            try:
                batch = next(batches)
            except StopIteration:
                return
            finally:
                self.lib.dev_waiting(0)
            yield batch

    def step(self):
        self.lib.dev_step(self.stream)

    def outside(self, yes):
        self.lib.dev_outside(yes)


def bins(folder):
    """Returns what each rank's device did in bins of bin_s seconds since began, by CLOCK_MONOTONIC and by the wall."""
    lib = library(folder)
    if lib.dev_attach():
        raise OSError(ctypes.get_errno(), "no timeline of %s" % folder)
    began, wall, width = I64(), I64(), I64()
    lib.dev_clock(ctypes.byref(began), ctypes.byref(wall), ctypes.byref(width))
    ranks = []
    room = (U64 * (BINS * len(WHATS)))()
    for slot in range(MAX_SLOTS):
        pid, rank, index = I64(), I64(), I64()
        if not lib.dev_slot(slot, ctypes.byref(pid), ctypes.byref(rank), ctypes.byref(index)):
            continue
        n = lib.dev_bins(slot, room, BINS)
        row = {"pid": pid.value, "rank": rank.value, "device": index.value}
        for i, what in enumerate(WHATS):
            unit = 1 if what == "steps" else 1e9
            row[what] = [room[b * len(WHATS) + i] / unit for b in range(n)]
        ranks.append(row)
    start = began.value / 1e9
    return {"bin_s": width.value / 1e9, "began": start, "wall": start + wall.value / 1e9, "ranks": ranks}


def truth(of, start=None, end=None):
    """Sums bins() up to shares of the time from start to end, and the rate of steps.

    Without start, the first tenth of the time since the first step is left out.
    """
    out = []
    for row in of["ranks"]:
        n = len(row["steps"])
        first = next((i for i in range(n) if row["steps"][i]), n)
        a = first + (n - first) // 10 if start is None else max(int(round((start - of["began"]) / of["bin_s"])), 0)
        b = n if end is None else min(int(round((end - of["began"]) / of["bin_s"])), n)
        took = (b - a) * of["bin_s"]
        if took <= 0:
            continue
        steps = sum(row["steps"][a:b])
        summed = {what: sum(row[what][a:b]) / took for what in WHATS if what != "steps"}
        who = {key: row[key] for key in ("rank", "pid", "device")}
        begin = of["began"] + a * of["bin_s"]
        out.append(dict(who, start=begin, seconds=took, steps=steps, steps_per_s=steps / took, **summed))
    return {"ranks": out}


def main(what, folder, *window):
    found = bins(folder)
    if what == "bins":
        print(json.dumps(found))
    else:
        print(json.dumps(truth(found, *map(float, window)), indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
