"""Opens an HDF5 file for append again and again, and says how often that was refused because somebody else holds a lock on it (errno 11).

    python3 append.py FILE OPENS
"""

import errno
import sys
import time

import h5py

path, opens = sys.argv[1], int(sys.argv[2])
print("appending", flush=True)
refused = 0
for number in range(opens):
    try:
        with h5py.File(path, "a") as file:
            file.attrs["opened"] = number
    except OSError as error:
        if error.errno not in (errno.EAGAIN, None) and "errno = 11" not in str(error):
            raise
        refused += 1
    time.sleep(0.02)
print(opens, "opens,", refused, "refused", flush=True)
