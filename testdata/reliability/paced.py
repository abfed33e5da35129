"""A training job at a steady pace that notes when each batch came. Its output is the same in every run.

    python3 paced.py --batches 400 --times FILE
"""

import argparse
import json
import os
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        return torch.full((8,), float(index))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=400)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--step-ms", type=float, default=10)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--method", default="fork")
    parser.add_argument("--persistent", action="store_true")
    parser.add_argument("--times", default="", help="file for the moments of CLOCK_MONOTONIC at which batches came, and epochs ended")
    args = parser.parse_args()
    print("training", args.batches, "batches", args.epochs, "times", flush=True)
    loader = DataLoader(
        Numbers(args.batches * 4), batch_size=4, num_workers=args.workers, persistent_workers=args.persistent,
        multiprocessing_context=args.method if args.workers else None)
    came, ended = [], [time.monotonic()]
    for epoch in range(args.epochs):
        total = 0.0
        for batch in loader:
            came.append(time.monotonic())
            total += float(batch.sum())
            if args.step_ms:
                time.sleep(args.step_ms / 1000)
        ended.append(time.monotonic())
        print(epoch, total, flush=True)
    if args.times:
        with open(args.times + ".part", "w") as file:
            json.dump({"pid": os.getpid(), "came": came, "ended": ended}, file)
        os.rename(args.times + ".part", args.times)


if __name__ == "__main__":
    main()
