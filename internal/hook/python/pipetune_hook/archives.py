"""Times the opening of tar and zip archives with the list of what they hold, reads of NumPy's, PyTorch's and Parquet
files, and reads of Zarr arrays: what is done again each time a file of many items is opened for one of them."""

import sys

from . import settings
from .sites import add_site
from .timed import wrap

# By module: what opens an archive or reads a file, of the module itself ("") or of a class in it. What a job may hold
# and pickle by its name is left alone: a function that it imported before PyTorch would no longer be what its name
# means. So are pandas' readers: pandas finds the line that a warning is for by how many frames are its own.
CALLS = {
    "tarfile": {"TarFile": ("__init__", "getmembers")},
    "zipfile": {"ZipFile": ("__init__",)},
    "numpy.lib.format": {"": ("read_array",)},
    "torch.serialization": {"": ("_load", "_legacy_load")},
    "pyarrow.parquet.core": {
        "ParquetFile": ("__init__", "read", "read_row_group", "read_row_groups"),
        "ParquetDataset": ("__init__", "read"),
        "_ParquetDatasetV2": ("__init__", "read"),
    },
    "zarr.core.array": {"Array": ("__getitem__",)},
}


def patch(module):
    for holder, names in CALLS.get(module.__name__, {}).items():
        holder = getattr(module, holder, None) if holder else module
        for name in names if holder is not None else ():
            wrap(holder, name, opened)


def opened(work, took, args, result, done):
    work.archive_time += took
    frame = settings.nearest(sys._getframe(2))
    if frame is not None:
        add_site(work.sites, "archive", "", settings.place(frame), took)
