"""Steps on a pretended GPU whose batches come three at a time: two steps of 20 ms after one of 260. What is told must be the GPU's idle time of all.

Time is made up, and nothing waits. The argument is the folder of the hook."""

import random
import sys

sys.path.insert(0, sys.argv[1])  # of the hook, which is not at work here

import torch  # which the hook finds loaded

from pipetune_hook import device

now = [0]
device.clock = lambda: now[0]
device.in_use = lambda cuda: 0


class Event:
    def __init__(self, enable_timing):
        self.at = None

    def record(self):
        self.at = now[0]

    def query(self):
        return True

    def elapsed_time(self, other):
        return (other.at - self.at) / 1e6


class Cuda:
    Event = Event

    @staticmethod
    def is_current_stream_capturing():
        return False


class Loop:
    device_time = device_starved = device_waited = device_steps = 0
    changed = False


def told(steps, burst, scale):
    """The share of time in which the GPU is said to idle, and of how many steps."""
    d, loop = device.Device(Cuda, 0), Loop()
    for i in range(steps):
        d.took(loop)
        now[0] += int(scale * 20e6)  # the step's kernels
        d.enter(loop)
        now[0] += int(scale * 240e6) if i % burst == burst - 1 else 0
    assert abs(loop.device_waited - loop.device_starved) <= loop.device_steps  # nanoseconds: both wait as long
    return loop.device_starved / (loop.device_time + loop.device_starved), loop.device_steps


before = random.getstate()
for burst in (1, 2, 3, 4, 7):
    for scale in (1, 0.1, 0.01):
        steps = int(6000 / scale**0.5)  # of short ones, few are timed
        share, timed = told(steps, burst, scale)
        true = 240 / (20 * burst + 240)
        assert abs(share - true) < 0.04, (burst, scale, share, true, timed)
        elapsed = steps * scale * (20e6 + 240e6 / burst)
        assert min(steps, 0.7 * elapsed / 50e6) <= timed + 100, (burst, scale, timed)
        assert timed <= min(steps, 2 * elapsed / 50e6 + 400), (burst, scale, timed)
assert random.getstate() == before
