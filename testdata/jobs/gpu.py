"""The GPU that a job trains on: the stand-in of testdata/device, where PIPETUNE_STAND_IN is set; else a step is slept through."""

import os
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "device"))
import device

_gpu = None


def step(seconds):
    """Trains on a batch: launches the work of so many seconds and waits until it is done. Ranks have a GPU each."""
    global _gpu
    if not os.environ.get("PIPETUNE_STAND_IN"):
        time.sleep(seconds)
        return
    if _gpu is None:
        rank = int(os.environ.get("LOCAL_RANK", 0))
        _gpu = device.Device(rank, rank, sync="block")
    _gpu.launch(seconds)
    _gpu.step()
    _gpu.sync()
