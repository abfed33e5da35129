"""Gives the numbers of ended workers to strangers at once, beside a watching pipetune. Run as the first process of a pid namespace:

    unshare --pid --fork --mount-proc --kill-child python3 reuse.py churn  FOLDER ROUNDS BINARY ARGS...
    unshare --pid --fork --mount-proc --kill-child python3 reuse.py attach FOLDER ROUNDS BINARY ARGS...

churn: a trainer with workers of a DataLoader's looks; each round ends some and gives each number to a process that is no child of the
trainer and reads 16 MiB. attach: the trainer itself is ended, and its number given away, while pipetune is taking hold of it.
What each process really was is written to FOLDER/truth.json.
"""

import json
import os
import random
import select
import signal
import subprocess
import sys
import time

STRANGER_READS, READ_BYTES = 64, 256 << 10
WORKERS = 8


def start_ticks(pid):
    with open("/proc/%d/stat" % pid) as f:
        return int(f.read().rpartition(")")[2].split()[19])


def child(body):
    pid = os.fork()
    if pid == 0:
        try:
            body()
        finally:
            os._exit(0)
    return pid


def child_with(number, body):
    """Forks a process of this very number; None where it is taken. Nobody else starts processes here but pipetune."""
    for _ in range(50):
        with open("/proc/sys/kernel/ns_last_pid", "w") as f:
            f.write(str(number - 1))
        pid = child(body)
        if pid == number:
            return pid
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return None


def wait_for_work():
    """What a DataLoader's worker looks like from outside: its handlers, and a poll on one descriptor for five seconds."""
    for s in (signal.SIGBUS, signal.SIGSEGV, signal.SIGFPE, signal.SIGTERM):
        signal.signal(s, lambda *_: os._exit(1))
    r, _ = os.pipe()
    poll = select.poll()
    poll.register(r, select.POLLIN)
    while True:
        poll.poll(5000)


def stranger():
    time.sleep(0.001)
    buffer = bytearray(READ_BYTES)
    with open("/dev/zero", "rb", buffering=0) as f:
        for _ in range(STRANGER_READS):
            f.readinto(buffer)
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        time.sleep(0.01)


def trainer(commands, answers):
    """Starts workers and ends them as it is told: a line for each command, a line for each answer."""
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for line in commands:
        what, _, number = line.strip().partition(" ")
        if what == "start":
            pid = child(wait_for_work)
        else:
            pid = int(number)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        answers.write("%d\n" % pid)
        answers.flush()


class Trainer:
    def __init__(self):
        self.down = os.pipe()
        self.up = os.pipe()
        self.pid = child(self.serve)
        self.commands = os.fdopen(self.down[1], "w")
        self.answers = os.fdopen(self.up[0])

    def serve(self):
        os.close(self.down[1])
        trainer(os.fdopen(self.down[0]), os.fdopen(self.up[1], "w"))

    def ask(self, command):
        self.commands.write(command + "\n")
        self.commands.flush()
        return int(self.answers.readline())


def collect():
    """Collects what has ended, except what subprocess waits for itself."""
    for pid in list(STRANGERS):
        if os.waitpid(pid, os.WNOHANG)[0]:
            STRANGERS.discard(pid)


STRANGERS = set()


def churn(folder, rounds, command):
    t = Trainer()
    own, strangers = [[t.pid, start_ticks(t.pid)]], []
    workers = [t.ask("start") for _ in range(WORKERS)]
    own += [[w, start_ticks(w)] for w in workers]
    with open(os.path.join(folder, "stderr"), "wb") as err:
        p = subprocess.Popen(command + ["--pid", str(t.pid)], stdout=subprocess.DEVNULL, stderr=err)
        time.sleep(1)
        done = missed = 0
        while done < rounds and p.poll() is None:
            for i, w in enumerate(workers):
                t.ask("end %d" % w)
                s = child_with(w, stranger)
                if s is None:
                    missed += 1
                else:
                    STRANGERS.add(s)
                    strangers.append([s, start_ticks(s)])
                workers[i] = t.ask("start")
                own.append([workers[i], start_ticks(workers[i])])
                done += 1
            time.sleep(random.uniform(0, 0.12))
            collect()
        watched = p.poll() is None
        if watched:
            p.send_signal(signal.SIGINT)
        p.wait()
    with open(os.path.join(folder, "truth.json"), "w") as f:
        json.dump({"status": p.returncode, "own": own, "strangers": strangers, "rounds": done, "missed": missed, "watched": watched}, f)


def attach(folder, rounds, command):
    out = []
    for n in range(rounds):
        old = subprocess.Popen(["sleep", "1111.%d" % n])
        old_start = start_ticks(old.pid)
        time.sleep(0.05)
        path = os.path.join(folder, "run-%d.jsonl" % n)
        with open(os.path.join(folder, "stderr-%d" % n), "wb") as err:
            p = subprocess.Popen(command + ["--pid", str(old.pid), "-o", path], stdout=subprocess.DEVNULL, stderr=err)
            time.sleep(random.uniform(0, 0.06))
            old.kill()
            old.wait()
            new = child_with(old.pid, lambda: os.execvp("sleep", ["sleep", "0.5"]))
            new_start = start_ticks(new) if new else 0
            p.wait()
        if new:
            os.kill(new, signal.SIGKILL)
            os.waitpid(new, 0)
        out.append({"pid": old.pid, "old": old_start, "new": new_start, "status": p.returncode})
    with open(os.path.join(folder, "truth.json"), "w") as f:
        json.dump(out, f)


if __name__ == "__main__":
    {"churn": churn, "attach": attach}[sys.argv[1]](sys.argv[2], int(sys.argv[3]), sys.argv[4:])
