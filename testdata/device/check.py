"""Holds the stand-in GPU to what its README says it models.

    LD_LIBRARY_PATH=DIR python3 check.py DIR      of a DIR built with queue=8 devices=2 link-gb=10

Times are taken by the device's own events, so that they are exact on a busy machine too.
"""

import os
import sys
import time

import device

MS = 1e-3
AHEAD = 0.3  # seconds of work that give a slow machine time to queue what follows


class Lap:
    """Milliseconds of the device between two events of a stream."""

    def __init__(self, gpu):
        self.gpu, self.first = gpu, gpu.lib.dev_record(gpu.stream)

    def end(self):
        gpu, last = self.gpu, self.gpu.lib.dev_record(self.gpu.stream)
        gpu.sync()
        return (gpu.lib.dev_time(gpu.stream, last) - gpu.lib.dev_time(gpu.stream, self.first)) / 1e6


def near(got, want, what, error=0.01):
    if abs(got - want) > error:
        sys.exit("%s took %.3f ms of the device, not %.3f" % (what, got, want))


def in_order(gpu):
    gpu.launch(AHEAD)
    lap = Lap(gpu)
    gpu.launch(50 * MS)
    gpu.launch(30 * MS)
    near(lap.end(), 80, "two kernels in a row")


def beside(gpu):
    gpu.launch(AHEAD)
    lap = Lap(gpu)
    gpu.launch(50 * MS)
    gpu.copy_beside(100 << 20)  # 10.5 ms at 10 GB/s
    gpu.launch(20 * MS)
    near(lap.end(), 70, "a copy beside kernels")


def waits_for_copy(gpu):
    gpu.launch(AHEAD)
    lap = Lap(gpu)
    gpu.copy(100 << 20, pinned=True)
    gpu.launch(20 * MS)
    near(lap.end(), 1e-7 * (100 << 20) + 20, "a copy before a kernel")


def full_queue(gpu):
    begun = time.monotonic()
    for _ in range(16):
        gpu.launch(20 * MS)
    took = time.monotonic() - begun
    gpu.sync()
    if took < 7 * 20 * MS:
        sys.exit("16 launches into a queue of 8 took %.0f ms" % (1e3 * took))


def syncs(gpu):
    for gpu.sync_kind in device.SYNCS.values():
        begun, cpu = time.monotonic(), time.thread_time()
        gpu.launch(200 * MS)
        gpu.sync()
        took, cpu = time.monotonic() - begun, time.thread_time() - cpu
        if took < 200 * MS or (gpu.sync_kind == device.BLOCK and cpu > 20 * MS):
            sys.exit("waiting in kind %d took %.0f ms, %.0f of them on a CPU" % (gpu.sync_kind, 1e3 * took, 1e3 * cpu))


def other(index, rank, work):
    """Runs work on a device in another process."""
    pid = os.fork()
    if pid:
        return pid
    os.execv(sys.executable, [sys.executable, os.path.abspath(__file__), sys.argv[1], work, str(index), str(rank)])


def turns(gpu, folder):
    """While two processes compute, each gets half of the device."""
    pid = other(0, 1, "compute")
    while not any(r["rank"] == 1 and sum(r["busy"]) > 0 for r in device.bins(folder)["ranks"]):
        time.sleep(10 * MS)
    lap = Lap(gpu)
    gpu.launch(200 * MS)
    near(lap.end(), 400, "200 ms beside another process", error=5)
    os.kill(pid, 15)
    os.waitpid(pid, 0)
    gpu.launch(2)  # what the other one had queued takes its turns
    gpu.sync()


def collective(gpu, folder):
    """A rank's collective holds its device until the other one's comes."""
    gpu.collective(2, 10 * MS)
    time.sleep(0.3)
    pid = other(1, 2, "collect")
    gpu.sync()
    os.waitpid(pid, 0)
    mine = next(r for r in device.bins(folder)["ranks"] if r["rank"] == 0)
    if sum(mine["spin"]) < 0.2:
        sys.exit("a collective held its device for %.0f ms alone" % (1e3 * sum(mine["spin"])))


def main(folder, work="", index=0, rank=0):
    gpu = device.Device(int(index), int(rank), sync="block")
    if work == "compute":
        while True:
            gpu.launch(100 * MS)
    if work == "collect":
        gpu.collective(2, 10 * MS)
        gpu.sync()
        return
    for check in (in_order, beside, waits_for_copy, full_queue, syncs):
        check(gpu)
    gpu.sync_kind = device.BLOCK
    turns(gpu, folder)
    collective(gpu, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
