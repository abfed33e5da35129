"""A job that looks like training to whoever counts its processes, and computes nothing: a trainer with workers that stay, and workers
that are born at a steady rate, live for a moment and end. It needs no torch: a worker is known by the name torch gives it.

    python3 churn.py --steady 8 --rate 5 --life 1

It says "born N" after each thousand births and once it has made all of --births. SIGTERM ends it with status 0 and the last line
"done N", N births in all.
"""

import argparse
import ctypes
import os
import resource
import signal
import threading
import time

PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15
libc = ctypes.CDLL(None)


def worker(args, life):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(PR_SET_NAME, b"pt_data_worker", 0, 0, 0)
    if life is not None:
        time.sleep(life)
        os._exit(0)
    if args.fds:
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        null = os.open("/dev/null", os.O_RDONLY)
        for _ in range(args.fds - len(os.listdir("/proc/self/fd")) + 1):
            os.dup(null)
    threading.stack_size(128 << 10)
    for _ in range(args.threads - 1):
        threading.Thread(target=signal.pause, daemon=True).start()
    os.write(args.ready, b".")
    while True:
        time.sleep(0.05)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steady", type=int, default=0, help="workers that stay")
    parser.add_argument("--fds", type=int, default=0, help="descriptors each of them holds")
    parser.add_argument("--threads", type=int, default=1, help="threads each of them has")
    parser.add_argument("--rate", type=float, default=0, help="births a second")
    parser.add_argument("--life", type=float, default=1, help="of a worker that was born so, in seconds")
    parser.add_argument("--births", type=int, default=-1, help="in all; below 0: without end")
    parser.add_argument("--hold", help="births begin when this file is there")
    parser.add_argument("more", nargs="*", help="ignored: a long command line")
    args = parser.parse_args()

    over = []
    signal.signal(signal.SIGTERM, lambda *_: over.append(True))
    read, args.ready = os.pipe()
    for _ in range(args.steady):
        if os.fork() == 0:
            worker(args, None)
    for _ in range(args.steady):
        os.read(read, 1)
    print("ready", flush=True)
    while args.hold and not os.path.exists(args.hold) and not over:
        time.sleep(0.05)
    born, due = 0, time.monotonic()
    while not over:
        if args.rate and born != args.births:
            if os.fork() == 0:
                worker(args, args.life)
            born += 1
            if born % 1000 == 0 or born == args.births:
                print("born", born, flush=True)
        while True:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                break
        due += 1 / args.rate if args.rate else 0.1
        time.sleep(max(0, due - time.monotonic()))
    print("done", born, flush=True)
    os._exit(0)


main()
