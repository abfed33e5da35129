"""The trainer's own stop-watch, the arguments and the data folder that all jobs of this directory share.

The stop-watch measures, inside the trainer, what pipetune measures from outside: how long each next() on the loader
took (input wait), how many batches came, how many epochs went by. It writes one JSON object per line to --stopwatch
FILE. Each record carries CLOCK_MONOTONIC and running totals, so that a reader can take the difference over exactly
the window it wants. Records are written at the ends of phases: between two records either many short phases passed
(at most RECORD_EVERY seconds) or one long one, so interpolating linearly between records is right to a few ms.

It appends a few hundred bytes each half second between two steps, from the trainer's main thread: a writer thread
would fight for the GIL, would be forked into the workers, and would be one more thread to watch.

    python3 stopwatch.py FILE     prints totals and one line per second
"""

import argparse
import contextlib
import json
import os
import shutil
import sys
import time

RECORD_EVERY = 0.02  # seconds between records at most, while phases are short
WRITE_EVERY = 0.5  # seconds between two appends to the file


def arguments(doc, **planted):
    """Parses the common arguments; planted holds this job's defaults, the planted ones among them."""
    parser = argparse.ArgumentParser(description=doc.strip().splitlines()[0])
    parser.add_argument("--data", default="", help="folder of the data set; made there when absent")
    parser.add_argument("--make-only", action="store_true", help="make the data set and leave")
    parser.add_argument("--stopwatch", default="", help="file the stop-watch writes to")
    parser.add_argument("--seconds", type=float, default=60, help="train for so long; 0: until --epochs")
    parser.add_argument("--epochs", type=int, default=0, help="train so many epochs; 0: until --seconds")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="another argument of the DataLoader (see settings.py)")
    defaults = dict(workers=2, batch_size=32, prefetch=2, step=0.02)
    defaults.update(planted)
    for name, value in defaults.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(value), default=value)
    args = parser.parse_args()
    if not args.data:
        name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
        args.data = os.path.join("/var/tmp/pipetune-jobs", name)
    return args


def dataset(args, make):
    """Returns the data folder; when absent, make(folder) fills one that is renamed to it once complete."""
    folder = args.data
    if not os.path.isdir(folder):
        partial = "%s.making-%d" % (folder, os.getpid())
        os.makedirs(partial)
        try:
            make(partial)
            os.rename(partial, folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    if args.make_only:
        sys.exit(0)
    return folder


class StopWatch:
    """Times the phases of one trainer's main thread: waiting for input, or anything else (the step)."""

    def __init__(self, args):
        self.path = args.stopwatch
        self.seconds = args.seconds
        self.max_epochs = args.epochs
        now = time.monotonic()
        self.start = self.mark = self.recorded = self.written = now
        # Running totals, all in seconds but the two counts. create and drain are parts of wait: making the iterator
        # of an epoch (which starts workers), and the last next() of an epoch (which ends them).
        # evaluation is a part of neither wait nor step.
        self.wait = self.create = self.drain = self.step = self.evaluated = 0.0
        self.batch_count = self.epoch_count = 0
        self.pending = []
        if self.path:
            with open(self.path, "w") as file:
                header = {"clock": "CLOCK_MONOTONIC", "pid": os.getpid(), "start": now, "argv": sys.argv}
                file.write(json.dumps(header) + "\n")
        self._record(now)

    def epochs(self):
        """Yields epoch numbers until --seconds or --epochs are used up."""
        epoch = 0
        while not self.over() and not (self.max_epochs and epoch >= self.max_epochs):
            yield epoch
            epoch += 1
        self.write()

    def over(self):
        return self.seconds > 0 and time.monotonic() - self.start >= self.seconds

    def batches(self, loader):
        """Iterates over loader, timing it; the loop body is the step."""
        self._phase("step")
        iterator = iter(loader)
        self._phase("create")
        while True:
            try:
                batch = next(iterator)
            except StopIteration:
                self._phase("drain")
                self.epoch_count += 1
                self._record(self.mark)
                return
            self.batch_count += 1
            self._phase("wait")
            yield batch
            del batch
            self._phase("step")
            if self.over():
                return

    @contextlib.contextmanager
    def evaluation(self):
        """Times what is done within as an evaluation in the middle of a step."""
        self._phase("step")
        try:
            yield
        finally:
            self._phase("evaluation")

    def _phase(self, kind):
        """Books the time since the last mark to the phase that ends now."""
        if kind == "step" and time.monotonic() - self.written >= WRITE_EVERY:
            self.write()  # before the clock is read: appending is the trainer's work and no wait for input
        now = time.monotonic()
        took = now - self.mark
        if took >= RECORD_EVERY and self.recorded < self.mark:
            self._record(self.mark)  # the state before a long phase, so that the phase stands alone between two records
        if kind == "step":
            self.step += took
        elif kind == "evaluation":
            self.evaluated += took
        else:
            self.wait += took
            if kind == "create":
                self.create += took
            elif kind == "drain":
                self.drain += took
        self.mark = now
        if now - self.recorded >= RECORD_EVERY:
            self._record(now)

    def _record(self, at):
        self.recorded = at
        self.pending.append((at, self.wait, self.create, self.drain, self.step, self.evaluated, self.batch_count,
                             self.epoch_count))

    def write(self):
        """Appends what was recorded so far."""
        self.written = time.monotonic()
        if self.path and self.pending:
            keys = ("t", "wait", "create", "drain", "step", "evaluated", "batches", "epochs")
            lines = "".join(json.dumps(dict(zip(keys, record))) + "\n" for record in self.pending)
            # Opened each time, so that no worker inherits the descriptor.
            fd = os.open(self.path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(fd, lines.encode())
            finally:
                os.close(fd)
        self.pending.clear()


def burn(seconds):
    """Keeps one CPU busy for so much CPU time of the calling thread (augmentation, tokenizing, metrics)."""
    end = time.thread_time() + seconds
    total = 0
    while time.thread_time() < end:
        total += sum(range(200))
    return total


def main(path):
    with open(path) as file:
        lines = file.read().splitlines()
    records = []
    for line in lines[1:]:
        try:
            records.append(json.loads(line))
        except ValueError:
            break  # the last line may be cut
    first, last = records[0], records[-1]
    span = last["t"] - first["t"]
    print("%.1f s  wait %.1f %%  (create %.1f %%, drain %.1f %%)  %.2f batches/s  %d batches  %d epochs" % (
        span, 100 * last["wait"] / span, 100 * last["create"] / span, 100 * last["drain"] / span,
        last["batches"] / span, last["batches"], last["epochs"]))
    if len(lines) < 3:
        return
    previous = first
    for record in records:
        if record["t"] - previous["t"] >= 1:
            took = record["t"] - previous["t"]
            print("%7.2f s  wait %5.1f %%  %7.2f batches/s" % (
                record["t"] - first["t"], 100 * (record["wait"] - previous["wait"]) / took,
                (record["batches"] - previous["batches"]) / took))
            previous = record


if __name__ == "__main__":
    main(sys.argv[1])
