"""A training job with a thread that times mmap, touch and munmap (stall.c), beside memory that was touched. Prints the worst stall in µs each second.

    python3 stall.py LIBRARY GIB
"""

import ctypes
import sys
import threading
import time

from torch.utils.data import DataLoader


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.taken.restype = ctypes.c_long
    library.fill.argtypes = [ctypes.c_long]
    if library.fill(int(float(sys.argv[2]) * 2**30)):
        sys.exit("no memory")
    threading.Thread(target=library.probe, daemon=True).start()
    print("probing", flush=True)
    told = time.monotonic()
    while True:
        for _ in DataLoader(list(range(4000)), 4, num_workers=2):
            time.sleep(0.02)
            if time.monotonic() - told >= 1:
                told = time.monotonic()
                print(told, library.taken() / 1000, flush=True)


if __name__ == "__main__":
    main()
