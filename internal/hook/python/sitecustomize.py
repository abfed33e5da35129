"""Loads pipetune's hook once PyTorch's data loading is imported, and gives way to the sitecustomize it stands in front
of.

Python imports the first sitecustomize on its path at start-up. This one notes which import to wait for, leaves sys.path
and sys.modules as if it had never been there, and imports the next one, whose errors then surface as they would without
it. It is read by any interpreter the job starts, so it is plain enough for Python 2 and imports nothing that is not
there already.
"""

import sys

FOLDER = __file__.rpartition("/")[0]


def _wait():
    """Puts the finder in place where somebody listens."""
    import os

    socket = os.environ.get("PIPETUNE_HOOK_SOCKET")
    if not socket or sys.version_info < (3, 8) or not os.path.exists(socket):
        return

    class Finder(object):
        """Finds nothing itself: it lets the other finders find one of the modules named, and has the hook called when
        that has run."""

        waiting = {
            "torch.utils.data",
            "torchdata.stateful_dataloader.worker",
            "torchdata.stateful_dataloader.stateful_dataloader",
            "torchdata.nodes.loader",
            "h5py",
            "PIL.Image",
            "PIL.ImageFile",
            "cv2",
            "datasets.arrow_dataset",
            "tarfile",
            "zipfile",
            "numpy.lib.format",
            "torch.serialization",
            "pyarrow.parquet.core",
            "zarr.core.array",
        }
        loaded = None  # the hook, once torch.utils.data was imported
        finding = False

        def find_spec(self, name, path=None, target=None):
            if name not in self.waiting or self.finding:
                return None
            self.finding = True
            try:
                spec = self.found(name, path, target)
            finally:
                self.finding = False
            loader = getattr(spec, "loader", None)
            run = getattr(loader, "exec_module", None)
            if run is None:
                return spec

            def exec_module(module):
                run(module)
                if getattr(module, "__name__", None) == name:
                    try:
                        loader.__dict__.pop("exec_module", None)
                        self.imported(name)
                    except Exception:
                        pass  # the job goes on without the hook; nobody said hello, which the receiver reports

            try:
                loader.exec_module = exec_module  # of this one loader object, until it has run
            except (AttributeError, TypeError):
                pass  # a loader that takes no attributes is left alone
            return spec

        def found(self, name, path, target):
            for finder in list(sys.meta_path):
                find = getattr(finder, "find_spec", None)
                if finder is not self and find is not None:
                    spec = find(name, path, target)
                    if spec is not None:
                        return spec
            return None

        def imported(self, name):
            if self.loaded is None and name == "torch.utils.data":
                self.loaded = _load(FOLDER + "/pipetune_hook")
            if self.loaded is not None:
                self.loaded.imported(name)

    finder = Finder()
    sys.meta_path.insert(0, finder)
    if "torch.utils.data" in sys.modules:  # by a .pth file, which site runs before this
        finder.imported("torch.utils.data")


def _load(folder):
    """Imports the hook by its path: its folder is not on sys.path. No bytecode is written next to it."""
    import importlib.util

    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec = importlib.util.spec_from_file_location(
            "pipetune_hook", folder + "/__init__.py", submodule_search_locations=[folder]
        )
        module = importlib.util.module_from_spec(spec)
        sys.modules["pipetune_hook"] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.dont_write_bytecode = kept


try:
    _wait()
except Exception:
    pass  # as above: a hook that is not there is reported by the receiver, and the job is none of its business
sys.path[:] = [entry for entry in sys.path if entry != FOLDER]
sys.path_importer_cache.pop(FOLDER, None)
if sys.modules.get("sitecustomize") is not None and getattr(sys.modules["sitecustomize"], "__file__", None) == __file__:
    del sys.modules["sitecustomize"]
    import sitecustomize  # noqa: F401  the person's own; its ImportError is the one site expects where there is none
