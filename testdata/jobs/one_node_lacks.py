"""One process of a job on several nodes, as Slurm or torchrun starts it: one_node_lacks.py --slow RANK [--seconds S] [--gloo].

Items of the process with that rank take twice as long as a step, those of all others a tenth. Nothing here takes a CPU: items and steps sleep, so that
many nodes fit on one machine. With --gloo the processes exchange a tensor at each step, as gradients are.
"""

import argparse
import os
import time

import torch
from torch.utils.data import DataLoader, Dataset

STEP = 0.02


class Items(Dataset):
    def __init__(self, seconds):
        self.seconds = seconds

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        time.sleep(self.seconds)
        return torch.zeros(16)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--slow", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--gloo", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rank = int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0")))
    if args.gloo:
        torch.distributed.init_process_group("gloo")
    loader = DataLoader(Items(2 * STEP if rank == args.slow else STEP / 10), num_workers=1)
    end = time.monotonic() + args.seconds
    for i, _ in enumerate(loader):
        if i == 0:
            print("training", flush=True)
        time.sleep(STEP)
        if args.gloo:
            torch.distributed.all_reduce(left := torch.tensor(float(time.monotonic() < end)), torch.distributed.ReduceOp.MIN)
            if not left:
                break
        elif time.monotonic() > end:
            break


if __name__ == "__main__":
    main()
