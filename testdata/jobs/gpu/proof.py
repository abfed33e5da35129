"""Watches loops on a GPU with pipetune, attached and launched, and holds what it says against what the loops noted.

    python3 proof.py OUTDIR PIPETUNE SECONDS [--stand-in]

Writes OUTDIR/table.md and OUTDIR/work. scripts/gpu-proof calls it.
"""

import json
import os
import re
import signal
import sys
import time

import fold
import loops
import stands

WATCH = float(os.environ.get("GPU_PROOF_WATCH", "10"))
ONLY = re.compile(os.environ.get("GPU_PROOF_LOOPS", ""))
AHEAD = (os.cpu_count() or 1) >= 8  # enough to import PyTorch beside a loop that is measured


class Proof:
    def __init__(self, out, binary, end, stand_in):
        self.out, self.binary, self.end = out, binary, end
        self.jobs = stands.Jobs(os.path.join(out, "log"))
        self.stand = (stands.StandIn if stand_in else stands.Real)(out, self.jobs)
        self.loops = [loop for loop in (loops.STAND_IN if stand_in else loops.REAL) if ONLY.search(loop[0])]
        self.rows, self.truths, self.notes, self.begun = [], [], [], {}

    def note(self, text):
        print(text, flush=True)
        self.notes.append(text)

    def diagnose(self, name, how, args):
        """Starts pipetune on a loop."""
        report, recording = self.stand.path(name, how + ".json"), self.stand.recording(name, how)
        argv = [self.binary, "diagnose", "-q", "--warmup", "2s", "-o", report, "-o", recording] + args
        return self.jobs.start(argv, env=self.stand.environment)

    def report(self, name, how):
        found = stands.read(self.stand.path(name, how + ".json"))
        window = found.get("window") or {}
        if not found.get("verdict") or not window.get("start_monotonic_s"):
            raise stands.Failed("the report has no verdict or no window")
        return found, window["start_monotonic_s"], window["start_monotonic_s"] + window["duration_s"]

    def row(self, loop, how, free):
        report, start, end = self.report(loop[0], how)
        truth = self.stand.truth(loop[0], how, start, end)
        truth["headroom"] = free / truth["steps_per_s"] if free and truth["steps_per_s"] else None
        stands.write(self.stand.path(loop[0], how + ".shares"), repr(truth))
        self.truths.append(fold.fixture(loop[0], loop[1], how, truth))
        row = fold.row(loop[0], loop[1], how, truth, report)
        self.rows.append(row)
        print("  ".join(row), flush=True)

    def begin(self, loop):
        if loop[0] not in self.begun:
            self.begun[loop[0]] = self.stand.ready(loop[0], loop[2])
        return self.begun[loop[0]]

    def watch(self, loop, following):
        name, _, args, beside = loop
        neighbour = self.stand.neighbour(name, beside) if beside else None
        launched = job = None
        later = []  # what a neighbour did is known once it has ended

        def row(how):
            later.append(how) if neighbour else self.row(loop, how, free)

        try:
            free = self.stand.free(name, args, None) if self.stand.free_first else None
            job = self.begin(loop)
            self.stand.go(name, job)
            watch = ["--pid", str(job.pid), "--duration", "%gs" % WATCH]
            self.jobs.wait(self.diagnose(name, "attached", watch), WATCH + 30, "pipetune, attached")
            if AHEAD and not self.stand.free_first:
                launched = self.launch(name, args)
                if following:
                    self.begin(following)
            if not self.stand.free_first:
                free = self.stand.free(name, args, job)
            row("attached")
            self.jobs.stop(job)
            if not launched:
                self.stand.again()
                launched = self.launch(name, args)
            self.jobs.wait(launched, WATCH + stands.PATIENCE, "pipetune, launched")
            row("launched")
        finally:
            for each in (job, launched, neighbour):
                if each:
                    self.jobs.stop(each)
            for how in later:
                self.row(loop, how, free)
            self.stand.again()

    def launch(self, name, args):
        return self.diagnose(name, "launched", ["--"] + self.stand.launched(name, args, WATCH))

    def run(self):
        took = 3 * WATCH
        for i, loop in enumerate(self.loops):
            if time.monotonic() + took > self.end:
                self.note("Not watched, for want of time: %s." % ", ".join(name for name, *_ in self.loops[i:]))
                break
            begun = time.monotonic()
            try:
                self.watch(loop, self.loops[i + 1] if i + 1 < len(self.loops) else None)
            except (stands.Failed, OSError, KeyError, ValueError, IndexError) as e:
                self.note("%s: %s: %s; see the log." % (loop[0], type(e).__name__, e))
            took = max(2.5 * WATCH, (took + time.monotonic() - begun) / 2)
            self.write()
        self.write()

    def write(self):
        stands.write(os.path.join(self.out, "work", "truth.json"), json.dumps(self.truths, indent=1))
        stands.write(os.path.join(self.out, "table.md"), fold.table(self.rows) + "".join("\n" + n for n in self.notes))


def main(out, binary, seconds, *more):
    proof = Proof(out, binary, time.monotonic() + float(seconds), "--stand-in" in more)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(130))
    try:
        proof.run()
    finally:
        proof.jobs.end()
        proof.stand.again()
    sys.exit(0 if proof.rows else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
