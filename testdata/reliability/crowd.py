"""Starts that many processes that sleep, says so, and ends them when its standard input ends."""

import os
import signal
import sys

crowd = [os.posix_spawn("/bin/sleep", ["sleep", "3600"], {}) for _ in range(int(sys.argv[1]))]
print("asleep", len(crowd), flush=True)
sys.stdin.read()
for pid in crowd:
    os.kill(pid, signal.SIGKILL)
for pid in crowd:
    os.waitpid(pid, 0)
