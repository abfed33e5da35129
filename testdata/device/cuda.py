"""Puts the stand-in GPU where PyTorch's users look for one: torch.cuda of a PyTorch without CUDA.

Tensors stay on the CPU. Events, synchronize and the pinning of memory are the stand-in's, so that a real DataLoader
pins in its thread, and whoever times a job by CUDA events sees this device. Pinning copies, as the real one does.
"""

import torch


MOST_DEVICES = 8  # MAX_DEVICES of timeline.h


class Event:
    """torch.cuda.Event."""

    device = None

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        self.number = self.when = None

    def record(self, stream=None):
        self.number, self.when = self.device.lib.dev_record(self.device.stream), None

    def query(self):
        if self.number is None or self.when is not None:
            return True
        if not self.device.lib.dev_query(self.device.stream, self.number):
            return False
        self.when = self.device.lib.dev_time(self.device.stream, self.number)  # while it is remembered
        return True

    def synchronize(self):
        if not self.query():
            self.device.lib.dev_sync(self.device.stream, self.number, self.device.sync_kind)
            self.query()

    def wait(self, stream=None):
        pass

    def elapsed_time(self, other):
        if not self.query() or not other.query():
            raise RuntimeError("CUDA error: device not ready")
        return (other.when - self.when) / 1e6


def install(device):
    Event.device = device
    cuda = torch.cuda
    cuda.Event = Event
    cuda.is_available = cuda.is_initialized = lambda: True
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: 0
    cuda.set_device = lambda index: None
    cuda.is_current_stream_capturing = lambda: False
    cuda.synchronize = lambda index=None: device.sync()
    torch._C._cuda_hasPrimaryContext = lambda index: index == 0
    # Each worker of PyTorch 2 seeds them, that of 2.15 as many as the driver has devices.
    cuda.default_generators = tuple(torch.Generator() for _ in range(MOST_DEVICES))
    if hasattr(torch, "accelerator"):  # which its DataLoader asks before it pins
        torch.accelerator.is_available = lambda: True
        torch.accelerator.current_accelerator = lambda check_available=False: torch.device("cuda", 0)
        torch.accelerator.current_device_index = lambda: 0
        torch.accelerator.set_device_index = lambda index: None
    torch.Tensor.pin_memory = lambda tensor, device=None: tensor.clone()
