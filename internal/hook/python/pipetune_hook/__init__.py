"""pipetune's hook inside a training job: reports, by datagrams, what the steps waited and what an item cost.

It promises not to hurt the job. No thread, lock, finalizer, exit handler or signal handler; nothing printed, nothing
written; sends never block; each wrapper calls the original exactly once and lets its result and its exceptions through;
no other code of the job's is called. A failure of its own turns it off in this process. What it reports, and in which
words, stands in message.go next to this folder.
"""

import os
import sys

from . import guise, state

ACTING = "PIPETUNE_HOOK_ORDERS"  # in the environment where the hook is to act, which the person has asked for

PATCHES = {
    "torch.utils.data": "trainer",
    "torchdata.stateful_dataloader.worker": "stateful",
    "torchdata.stateful_dataloader.stateful_dataloader": "stateful",
    "torchdata.nodes.loader": "nodes",
    "h5py": "hdf5",
    "PIL.Image": "pictures",
    "PIL.ImageFile": "pictures",
    "cv2": "pictures",
    "datasets.arrow_dataset": "rows",
    "tarfile": "archives",
    "zipfile": "archives",
    "numpy.lib.format": "archives",
    "torch.serialization": "archives",
    "pyarrow.parquet.core": "archives",
    "zarr.core.array": "archives",
}


def imported(name):
    """Called when the module of that name has run; for torch.utils.data the first, which brings those imported before
    it."""
    if not state.process.on:
        return  # as where pipetune is gone, and its folder with it
    names = [name]
    if name == "torch.utils.data":
        names += [other for other in PATCHES if other != name and other in sys.modules]
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        for each in names:
            patch = __import__(__name__ + "." + PATCHES[each], fromlist=["patch"]).patch
            patch(sys.modules[each])
        if name == "torch.utils.data" and os.environ.get(ACTING):
            __import__(__name__ + ".acting", fromlist=["patch"]).patch(sys.modules[name])
        guise.skip_all(__name__ + ".")
    except Exception as error:
        state.failed(error)
    finally:
        sys.dont_write_bytecode = kept
