"""The GPU that a job trains on: the stand-in of testdata/device, where the linker finds it; else a step is slept through."""

import ctypes
import os
import time

BLOCK = 2  # a synchronise sleeps until the device is done

_stream = None


def _open():
    """Opens the process's GPU: ranks have one each."""
    lib = ctypes.CDLL("libcuda.so.1", use_errno=True)
    lib.dev_launch.argtypes = ctypes.c_int, ctypes.c_int64, ctypes.c_double
    lib.dev_sync.argtypes = ctypes.c_int, ctypes.c_int64, ctypes.c_int
    rank = int(os.environ.get("LOCAL_RANK", 0))
    if lib.dev_open(rank, rank):
        raise OSError(ctypes.get_errno(), "no stand-in GPU %d" % rank)
    return lib, lib.dev_stream()


def step(seconds):
    """Trains on a batch: launches the work of so many seconds and waits until it is done."""
    global _stream
    if not os.environ.get("PIPETUNE_STAND_IN"):
        time.sleep(seconds)
        return
    if _stream is None:
        _stream = _open()
    lib, stream = _stream
    lib.dev_launch(stream, int(seconds * 1e9), 0.9)
    lib.dev_step(stream)
    lib.dev_sync(stream, -1, BLOCK)
