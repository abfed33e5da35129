"""Items fetched one by one over HTTP from an object store.

Planted: two workers, each waiting 12 ms for every item; CPUs and disk idle. The object store is a process of its own
that answers on the loopback interface. With --timeout the client polls its socket before it reads, as requests and boto3 do.
Cure: more workers (they only wait), or several requests at once.
"""

import http.client
import os
import subprocess
import sys

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import settings
import stopwatch
import training

ITEM_BYTES = 16384


class Objects(Dataset):
    def __init__(self, port, timeout):
        self.port = port
        self.timeout = timeout
        self.connection = None

    def __len__(self):
        return 4000

    def __getitem__(self, index):
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout or None)
        self.connection.request("GET", "/train/%06d" % index)
        body = self.connection.getresponse().read()
        return torch.from_numpy(np.frombuffer(body, np.uint8).astype(np.float32)), index % 10


def main():
    args = stopwatch.arguments(__doc__, workers=2, batch_size=16, step=0.04, delay=0.012, timeout=0.0)
    store = subprocess.Popen(
        [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "objectstore.py"), str(args.delay), str(ITEM_BYTES)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        loader = DataLoader(Objects(int(store.stdout.readline()), args.timeout), **settings.chosen(
            args, batch_size=args.batch_size, shuffle=True, num_workers=args.workers, prefetch_factor=args.prefetch,
            persistent_workers=True))
        training.run(args, loader)
    finally:
        store.terminate()
        store.wait()


if __name__ == "__main__":
    main()
