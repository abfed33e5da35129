"""A process on a GPU in one state, until it is ended: python3 states.py STATE. It prints a line of JSON once it is.

copy: pinned memory to the GPU as fast as can be · pulse: half a second of kernels, half a second of nothing ·
spin, block: the main thread waits for kernels · queue: it launches into a full queue · backward: the autograd
thread waits in a backward pass, and the main thread for it.
"""

import json
import sys
import time

import torch

CYCLES = 20_000_000  # some 10 ms
SIZE = 1 << 30


class Waits(torch.autograd.Function):
    @staticmethod
    def forward(_, x):
        return x * 2

    @staticmethod
    def backward(_, gradient):
        for _ in range(20):
            torch.cuda._sleep(CYCLES)
        torch.cuda.synchronize()
        return gradient * 2


def say(**what):
    print(json.dumps(dict(what, monotonic=time.monotonic(), wall=time.time())), flush=True)


def copy():
    host, there = torch.ones(SIZE, dtype=torch.uint8).pin_memory(), torch.empty(SIZE, dtype=torch.uint8, device="cuda")
    while True:
        begun = time.monotonic()
        for _ in range(8):
            there.copy_(host, non_blocking=True)
        torch.cuda.synchronize()
        say(copied=8 * SIZE, seconds=time.monotonic() - begun)


def pulse():
    while True:
        say(on=True)
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            torch.cuda._sleep(CYCLES // 10)
            torch.cuda.synchronize()
        say(on=False)
        time.sleep(0.5)


def spin():
    for _ in range(20):
        torch.cuda._sleep(CYCLES)
    torch.cuda.synchronize()


def block():
    for _ in range(20):
        torch.cuda._sleep(CYCLES)
    mark = torch.cuda.Event(blocking=True)
    mark.record()
    mark.synchronize()


def queue():
    for _ in range(100):
        torch.cuda._sleep(CYCLES // 10)


def backward():
    x = torch.ones(8, device="cuda", requires_grad=True)
    Waits.apply(x).sum().backward()


def main(state):
    torch.cuda.init()
    say(state=state)
    while True:
        {"copy": copy, "pulse": pulse, "spin": spin, "block": block, "queue": queue, "backward": backward}[state]()


if __name__ == "__main__":
    main(*sys.argv[1:])
