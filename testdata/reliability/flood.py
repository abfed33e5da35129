"""A small training job beside 64 processes of its own that send to the hook's socket as fast as they can.

    pipetune diagnose -- python3 flood.py --clients 64 --seconds 10

Every fourth client sends well-formed messages, every fourth ones without the token, every fourth bytes that are no message, and every
fourth datagrams of a megabyte. It says when that begins, and at the end how many were tried and how many the kernel took.
"""

import argparse
import json
import os
import socket
import struct
import sys
import time

import torch
from torch.utils.data import DataLoader


def flood(kind, until, out):
    path, token = os.environ["PIPETUNE_HOOK_SOCKET"], os.environ["PIPETUNE_HOOK_TOKEN"]
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    s.setblocking(False)
    tried = sent = 0
    while time.monotonic() < until:
        for _ in range(1000):
            tried += 1
            if kind == 0:
                data = json.dumps({"v": 1, "token": token, "kind": "work", "pid": os.getpid(), "seq": tried, "at": time.monotonic_ns(),
                                   "loader": 0, "work": {"items": tried}}).encode()
            else:
                data = (b'{"v": 1, "token": "0", "kind": "hello"}', b"\xff{" * 500, bytes(1 << 20))[kind - 1]
            try:
                s.sendto(data, path)
                sent += 1
            except OSError:
                pass  # the queue is full, or the datagram too large: that is what is tried
    os.write(out, struct.pack("qq", tried, sent))
    os._exit(0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10)
    args = parser.parse_args()
    loader = DataLoader(list(range(400)), batch_size=4, num_workers=1)
    until = time.monotonic() + args.seconds
    read, write = os.pipe()
    for i in range(args.clients):
        if os.fork() == 0:
            os.nice(19)  # the queue is full all the same, and the machine stays usable
            flood(i % 4, until, write)
    print("flooding", flush=True)
    total = torch.zeros(1, dtype=torch.int64)
    epochs = 0
    while time.monotonic() < until + 1:
        for x in loader:
            total += x.sum()
            time.sleep(0.005)
        epochs += 1
    counts = [struct.unpack("qq", os.read(read, 16)) for _ in range(args.clients)]
    print("right" if int(total) == epochs * 400 * 399 // 2 else "WRONG", sum(c[0] for c in counts), sum(c[1] for c in counts), flush=True)
    sys.exit(5)


main()
