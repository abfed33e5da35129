"""Several threads that go over loaders of their own at once, epoch after epoch, and change over as often as Python lets them."""

import sys
import threading
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

DATA = TensorDataset(torch.zeros(6, 2))
ROUNDS = 150
errors = []


def go(loader, rounds):
    try:
        for _ in range(rounds):
            assert len(list(loader)) == 6
    except BaseException as error:
        errors.append(error)


def main():
    sys.setswitchinterval(1e-6)
    jobs = [(DataLoader(DATA), ROUNDS) for _ in range(4)] + [(DataLoader(DATA, num_workers=1), 3) for _ in range(2)]
    threads = [threading.Thread(target=go, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(0.005)
    time.sleep(0.6)  # a report is due each 500 ms
    for job in jobs:  # what is left is told
        go(job[0], 1)
    print(errors)


main()
