"""What the jobs of this folder share: the same work, given to one framework after another.

Planted: an item costs --item milliseconds of CPU, or with --wait of waiting, a step sleeps --step, and --workers make the batches of 16. With the
defaults one worker needs 64 ms for a batch whose step takes 15 ms: the job is input-bound. With --item 0.1 it keeps up.
What a job prints does not depend on those three, so a quick run says what a slow one must print.
"""

import argparse
import time

import torch
from torch.utils.data import Dataset

BATCH = 16
FEATURES = 64


def arguments(doc, **own):
    """The command line. own: further flags of one job, each off unless it is given, with their help."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--item", type=float, default=4, help="milliseconds of CPU for each item")
    parser.add_argument("--step", type=float, default=15, help="milliseconds that a step takes beside")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--wait", action="store_true", help="an item waits instead, as for a store far away")
    parser.add_argument("--begun", help="a file to write once 20 steps are done")
    parser.add_argument("--folder", default=".", help="a folder of the job's own")
    for flag, text in own.items():
        parser.add_argument("--" + flag, action="store_true", help=text)
    args = parser.parse_args()
    torch.manual_seed(7)
    torch.set_num_threads(1)
    return args


def burn(milliseconds):
    """Uses so much CPU time, as decoding in pure Python does."""
    end = time.thread_time() + milliseconds / 1000
    while time.thread_time() < end:
        pass


def work(args):
    """What an item costs."""
    if args.wait:
        time.sleep(args.item / 1000)
    else:
        burn(args.item)


def features(index):
    """An item's values, which its number alone decides."""
    return torch.sin(torch.arange(FEATURES) * (index % 97 + 1) / 7)


class Items(Dataset):
    """A map-style dataset for so many steps of one epoch."""

    def __init__(self, args, ranks=1):
        self.count, self.args = args.steps * BATCH * ranks, args

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        work(self.args)
        return features(index)


class Net(torch.nn.Module):
    """A model of one layer, whose forward pass takes as long as a step is to take."""

    def __init__(self, args):
        super().__init__()
        self.layer, self.args, self.steps, self.total = torch.nn.Linear(FEATURES, 1), args, 0, 0.0

    def forward(self, x):
        time.sleep(self.args.step / 1000)
        self.steps += 1
        if self.steps == 20 and self.args.begun:
            with open(self.args.begun, "w") as file:
                file.write("begun\n")
        loss = self.layer(x).square().mean()
        self.total += loss.item()
        return loss

    def result(self):
        """The line by which runs of a job are compared."""
        print("job: %d steps, losses %.5f" % (self.steps, self.total), flush=True)


def train(args, batches, wrapped=lambda net: net, result=True):
    """A loop by hand over what yields batches, as tensors."""
    net = Net(args)
    model = wrapped(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for x in batches:
        optimizer.zero_grad()
        model(x).backward()
        optimizer.step()
    if result:
        net.result()
