"""Runs a command in a mount namespace of its own with so many mounts more:  python3 mounts.py FOLDER 4096 COMMAND [ARGS]..."""

import ctypes
import os
import sys

CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 4096, 16384, 1 << 18
libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


folder, count, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
check(libc.unshare(CLONE_NEWNS))
check(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
check(libc.mount(b"none", folder.encode(), b"tmpfs", 0, None))
for i in range(count - 1):
    place = f"{folder}/{i:05d}".encode()
    os.mkdir(place)
    check(libc.mount(folder.encode(), place, None, MS_BIND, None))
os.execvp(command[0], command)
