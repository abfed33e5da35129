"""Jobs that are hard to tune: each trains until it is ended, on its own way."""

import os
import signal
import sys
import tempfile
import time

import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

WAY = sys.argv[1]


class Items(Dataset):
    def __init__(self):
        if WAY == "slow-start":
            time.sleep(60)

    def __len__(self):
        return 100000

    def __getitem__(self, index):
        info = get_worker_info()
        if WAY == "dies-with-two" and info is not None and info.num_workers > 1:
            os._exit(3)
        if WAY == "grows" and info is not None and info.num_workers > 1:
            self.grow()
            time.sleep(0.006 * (int(time.time()) % 2))  # no rate is known soon, so that each is measured for long
        time.sleep(0.002)
        return torch.zeros(1 << 17 if WAY == "full-shm" else 16), index


    def grow(self):
        """Takes room in /dev/shm once its worker is older than a candidate becomes that is gone over alone."""
        if not hasattr(self, "born"):
            self.born, self.held = time.monotonic(), None
        if self.held is None and get_worker_info().id == 0 and time.monotonic() - self.born > 7:
            self.held = tempfile.TemporaryFile(dir="/dev/shm")
            self.held.write(bytes(31 << 19))  # 15.5 MiB of 20
            self.held.flush()


def train(seconds):
    data = Items()
    end = time.monotonic() + seconds
    while True:
        context = "forkserver" if WAY == "forkserver" else None
        for x, y in DataLoader(data, batch_size=8, num_workers=1, multiprocessing_context=context):
            time.sleep(0.005)
            if time.monotonic() > end:
                if WAY == "exits":
                    sys.exit(7)
                return


def main():
    if WAY == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if WAY == "forks":
        forked = []
        while len(forked) < 2 and 0 not in forked:
            forked.append(os.fork())
        if 0 not in forked:
            sys.exit(max([os.waitpid(pid, 0)[1] for pid in forked]))
    train({"exits": 18, "deaf": 100}.get(WAY, 240))


if __name__ == "__main__":
    main()
