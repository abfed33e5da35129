"""What the hook adds to a step: the bytecode instructions that its own functions execute between two batches, by sys.settrace. Unlike a time, the
count is the same on any machine, however busy. Prints the median of a loader whose batches workers make and of one without workers, whose work is
counted too: that of a step that chance did not choose to be taken in full."""

import statistics
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset, _utils, dataloader

DATA = TensorDataset(torch.arange(64000.0).reshape(-1, 8))
FETCH = (_utils.fetch._MapDatasetFetcher, "fetch")

executed = 0


def instruction(frame, event, argument):
    global executed
    if event == "opcode":
        executed += 1
    return instruction


def call(frame, event, argument):
    if "pipetune_hook" not in frame.f_code.co_filename:
        return None
    frame.f_trace_opcodes = True
    return instruction


def steps():
    """The hook's instructions of each step."""
    counts, last = [], 0
    loader = DataLoader(DATA, 4)
    sys.settrace(call)
    for _ in loader:
        counts.append(executed - last)
        last = executed
    sys.settrace(None)
    return statistics.median(counts)


def main():
    steps()  # Python 3.12 traces the instructions of a function from its second run on
    counted = steps()
    setattr(*FETCH, FETCH[0].__dict__[FETCH[1]].__wrapped__)
    print(steps(), counted)


main()
