"""Two trainers under one launcher, as torchrun starts them; they wait for each other in each step.

Planted: one worker per rank, which mostly waits for its storage (played by a sleep). Rank 0's stop-watch is --stopwatch
FILE, rank 1's is FILE.1.
Cure: more workers per rank.
"""

import os
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

import gpu
import stopwatch


class Objects(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, index):
        time.sleep(0.006)
        return torch.full((3, 32, 32), float(index)), index % 10


def train_step(x, y, seconds):
    gpu.step(seconds)
    gradient = torch.ones(1000)
    torch.distributed.all_reduce(gradient)


def train(args):
    rank = int(os.environ["RANK"])
    torch.distributed.init_process_group("gloo", init_method="file://" + args.rendezvous, rank=rank,
                                         world_size=int(os.environ["WORLD_SIZE"]))
    if args.stopwatch and rank:
        args.stopwatch += ".%d" % rank
    data = Objects()
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler, num_workers=args.workers,
                        prefetch_factor=args.prefetch, persistent_workers=True)
    watch = stopwatch.StopWatch(args)
    for epoch in watch.epochs():
        sampler.set_epoch(epoch)
        for x, y in watch.batches(loader):
            train_step(x, y, args.step)


def launch(args, ranks=2):
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable] + sys.argv + ["--rendezvous", os.path.join(folder, "rendezvous")]
        children = []
        for rank in range(ranks):
            environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks),
                               OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
            children.append(subprocess.Popen(command, env=environment))
        codes = [child.wait() for child in children]
    # Ranks end by the clock, so the first to end breaks the other's all_reduce: that is how these jobs end.
    sys.exit(0 if 0 in codes else 1)


def main():
    args = stopwatch.arguments(__doc__, workers=1, batch_size=16, step=0.03, rendezvous="")
    if "RANK" in os.environ:
        train(args)
    else:
        launch(args)


if __name__ == "__main__":
    main()
