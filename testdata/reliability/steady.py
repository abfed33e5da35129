"""A small training job at a steady pace, whose output is the same in every run whatever the pace.

    python3 steady.py --batches 400 --workers 2 --step-ms 20 --item-ms 1

With --times it notes when each batch came and each epoch ended.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __init__(self, items, seconds, program="", program_at=-1):
        self.items = items
        self.seconds = seconds
        self.program = program
        self.program_at = program_at

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        if self.seconds:
            time.sleep(self.seconds)
        if index == self.program_at:
            try:
                subprocess.call([self.program])
            except OSError:
                pass  # it is there to be waited for, not to be run
        return torch.full((8,), float(index)), index


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=400, help="in all")
    parser.add_argument("--epoch", type=int, default=100, help="batches of an epoch")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--step-ms", type=float, default=20)
    parser.add_argument("--item-ms", type=float, default=0)
    parser.add_argument("--method", default="fork")
    parser.add_argument("--persistent", action="store_true")
    parser.add_argument("--status", type=int, default=0, help="of the job's end")
    parser.add_argument("--program", default="", help="that a worker starts, once in each epoch")
    parser.add_argument("--program-at", type=int, default=-1, help="batch that it starts it in")
    parser.add_argument("--times", default="", help="file for the moments of CLOCK_MONOTONIC at which batches came, and epochs ended")
    args = parser.parse_args()

    loader = DataLoader(
        Numbers(args.epoch * 4, args.item_ms / 1000, args.program, args.program_at * 4), batch_size=4, num_workers=args.workers,
        persistent_workers=args.persistent and args.workers > 0,
        multiprocessing_context=args.method if args.workers else None)
    print("training", args.batches, "batches", flush=True)
    done, came, ended = 0, [], [time.monotonic()]
    while done < args.batches:
        print("epoch", done // args.epoch, flush=True)
        digest = hashlib.sha256()
        for x, y in loader:
            came.append(time.monotonic())
            digest.update(x.numpy().tobytes() + y.numpy().tobytes())
            if args.step_ms:
                time.sleep(args.step_ms / 1000)
            done += 1
        ended.append(time.monotonic())
        print(done, digest.hexdigest(), flush=True)
    if args.times:
        with open(args.times + ".part", "w") as file:
            json.dump({"came": came, "ended": ended}, file)
        os.rename(args.times + ".part", args.times)
    sys.exit(args.status)


if __name__ == "__main__":
    main()
