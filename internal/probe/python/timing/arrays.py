"""h5py and numpy on arrays, and Python's own reading of anything else."""

import sys

OPEN_FILES = 64


def array_index(source, item):
    """What to index a dataset with."""
    if source.members:
        return item.get("Row", 0) if source.rows else ()
    if item.get("Corner") and source.shape:
        return tuple(slice(c, c + n) for c, n in zip(item["Corner"], source.shape))
    return item["Index"]


class Handles:
    """Open files, at most OPEN_FILES of them."""

    def __init__(self, opener, closer):
        self.opener, self.closer, self.open = opener, closer, {}

    def get(self, path):
        got = self.open.get(path)
        if got is None:
            while len(self.open) >= OPEN_FILES:
                self.closer(self.open.pop(next(iter(self.open))))
            got = self.open[path] = self.opener(path)
        return got

    def close(self):
        while self.open:
            self.closer(self.open.popitem()[1])


def inside(h5py, file, name, follow, depth=0):
    """Opens a dataset by its path, each link looked at before it is followed: an external link leads to a file that
    nobody listed."""
    if follow:
        return file[name]
    if depth > 16:
        raise Refused("more than 16 soft links in a row")
    parts = [p for p in name.split("/") if p not in ("", ".")]
    here = file["/"]
    for i, part in enumerate(parts):
        link = here.get(part, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            raise Refused("it lies behind an external link, which is not followed")
        if isinstance(link, h5py.SoftLink):
            start = "" if link.path.startswith("/") else here.name
            return inside(h5py, file, "/".join([start, link.path] + parts[i + 1 :]), follow, depth + 1)
        here = here[part]
    if here.is_virtual or here.external:
        raise Refused("its data lie in other files, which are not followed")
    return here


def h5py_subjects(source, items):
    h5py = library("h5py")
    if h5py is None:
        return []
    if h5py.version.hdf5_version_tuple[:3] == (
        1,
        10,
        0,
    ):  # the one that locks files whatever HDF5_USE_FILE_LOCKING says
        NOTES.append(
            "h5py was left out: its libhdf5, 1.10.0, cannot be kept from locking files, and a lock keeps writers out"
        )
        return []
    library("hdf5plugin")  # registers the filters that a job with this package has

    def opener(path):
        file = h5py.File(path, "r")
        try:
            return file, None if source.members else inside(h5py, file, source.dataset, source.follow)
        except BaseException:
            file.close()
            raise

    handles = Handles(opener, lambda got: got[0].close())

    def read(file, dset, item):
        if source.members:
            dset = file[item["Name"]]
        return dset[array_index(source, item)]

    def kept(item):
        file, dset = handles.get(source.path(item))
        return read(file, dset, item)

    def reopened(item):
        file, dset = opener(source.path(item))
        try:
            return read(file, dset, item)
        finally:
            file.close()

    def closed_first(item):
        checked_first(item)
        handles.close()  # a file that is open already is not opened again by HDF5 but shared
        return item

    checked = set()

    def checked_first(item):
        if source.members and (item["File"], item["Name"]) not in checked:
            inside(h5py, handles.get(source.path(item))[0], item["Name"], source.follow)
            checked.add((item["File"], item["Name"]))
        return item

    version = "%s with HDF5 %s" % (h5py.__version__, h5py.version.hdf5_version)
    labels = {"decoder": "h5py", "version": version, "cache": "warm", "order": "random"}
    usual = reopened if source.opens_each else kept
    source.array, source.forked = lambda item: usual(checked_first(item)), handles.close
    anew = Subject("item_time_s", dict(labels, handle="reopened"), items, reopened, closed_first, alone=True)
    if source.opens_each:  # kept open, few files' items would come out of their chunk caches
        return [anew]
    return [Subject("item_time_s", dict(labels, handle="kept"), items, kept, checked_first), anew]


def numpy_subjects(source, items):
    numpy = library("numpy")
    if numpy is None:
        return []

    def opener(path):
        return numpy.load(path, mmap_mode="r", allow_pickle=False)

    handles = Handles(opener, lambda mapped: None)

    def kept(item):
        return numpy.array(handles.get(source.path(item))[array_index(source, item)])

    def reopened(item):
        return numpy.array(opener(source.path(item))[array_index(source, item)])

    labels = {"decoder": "numpy", "version": numpy.__version__, "cache": "warm", "order": "random"}
    source.array = kept
    return [
        Subject("item_time_s", dict(labels, handle="kept"), items, kept),
        Subject("item_time_s", dict(labels, handle="reopened"), items, reopened, alone=True),
    ]


def array_subjects(source, items):
    return {"hdf5": h5py_subjects, "npy": numpy_subjects}[source.kind](source, items)


def plain_subjects(source, items):
    """Python's own file reading, with nothing behind it."""
    version = "%d.%d.%d" % sys.version_info[:3]
    labels = {"decoder": "python", "version": version, "cache": "warm", "order": "random", "handle": "reopened"}
    return [Subject("item_time_s", labels, items, source.plain)]
