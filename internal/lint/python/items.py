"""Datasets, and what is done for each item of one."""

import re

# Bases that have __getitem__ and are no datasets.
NO_DATASET = re.compile(
    r"Sampler|Module|Sequence|Mapping|Loader|Enum|Tuple|Dict|List|UserDict|Transform|Storage|Batch|Vocab|Tokeniz"
)
# What is opened once and read from often: full name -> how what is opened is called.
HANDLES = {
    name: word
    for word, names in {
        "HDF5 file": ("h5py.File", "tables.open_file", "pandas.HDFStore"),
        "netCDF file": ("netCDF4.Dataset", "xarray.open_dataset"),
        "LMDB environment": ("lmdb.open", "lmdb.Environment"),
        "tar archive": ("tarfile.open",),
        "zip archive": ("zipfile.ZipFile",),
        "SQLite database": ("sqlite3.connect",),
        "Zarr store": ("zarr.open", "zarr.open_group", "zarr.open_array"),
        "raster file": ("rasterio.open",),
        "Parquet file": ("pyarrow.parquet.ParquetFile",),
        "file": ("open", "io.open"),
        "gzip file": ("gzip.open",),
        "bzip2 file": ("bz2.open",),
        "xz file": ("lzma.open",),
        "video": ("cv2.VideoCapture", "decord.VideoReader"),
        "slide": ("openslide.OpenSlide", "openslide.open_slide"),
    }.items()
    for name in names
}
# What is read whole into memory.
WHOLE = {
    "torch.load": "torch.load",
    "pickle.load": "pickle.load",
    "joblib.load": "joblib.load",
    "json.load": "json.load",
    "numpy.load": "np.load",
    "numpy.loadtxt": "np.loadtxt",
    "numpy.genfromtxt": "np.genfromtxt",
    "pandas.read_csv": "pd.read_csv",
    "pandas.read_pickle": "pd.read_pickle",
    "pandas.read_parquet": "pd.read_parquet",
    "pandas.read_json": "pd.read_json",
    "pandas.read_excel": "pd.read_excel",
    "pandas.read_hdf": "pd.read_hdf",
    "pickle.loads": "pickle.loads",
    "yaml.load": "yaml.load",
    "yaml.safe_load": "yaml.safe_load",
    "scipy.io.loadmat": "loadmat",
}
PICTURES = {
    "PIL.Image.open": "Image.open",
    "cv2.imread": "cv2.imread",
    "imageio.imread": "imageio.imread",
    "skimage.io.imread": "io.imread",
    "torchvision.io.read_image": "read_image",
    "nibabel.load": "nib.load",
    "torchaudio.load": "torchaudio.load",
    "soundfile.read": "sf.read",
    "librosa.load": "librosa.load",
    "numpy.load": "np.load",
    "torch.load": "torch.load",
}


BY_ITEM = ("__getitem__", "__getitems__", "get")  # the methods that are asked for items


class Items:
    """A dataset of this file: the functions that run for each item, and what in them depends on which item it is."""

    def __init__(self, m, owner):
        self.m, self.owner = m, owner
        self.methods = {n.name: n for n in owner.body if isinstance(n, FUNCTIONS)}
        self.loaders = [loader for loader in m.loaders if loader.serves(owner)]
        start = [self.methods[n] for n in BY_ITEM if n in self.methods]
        self.functions = []
        for function in start:
            for f in m.reached(function):
                if f not in self.functions and f.name != "__init__" and not cached(f):
                    self.functions.append(f)
        self.taints = {f: taint(f) for f in self.functions}
        self.calls = [
            (f, c) for f in self.functions for c in ast.walk(f) if isinstance(c, ast.Call) and not m.switched_off(c)
        ]

    def varies(self, function, node):
        """Whether an expression depends on the item that is asked for, or may."""
        return bool(names_in(node) & self.taints[function])

    def workers(self):
        """Whether workers serve it: True, False, or None where the file does not say."""
        told = [loader.has_workers() for loader in self.loaders]
        return True if True in told else False if told and all(t is False for t in told) else None

    def kept(self, function, call):
        """Whether what a call makes is kept for later items: stored on self, in a cache or a global, or made under a
        condition.
        """
        shared = {n for g in ast.walk(function) if isinstance(g, (ast.Global, ast.Nonlocal)) for n in g.names}
        for around in self.m.inside(
            call, (ast.If, ast.IfExp, ast.Try, ast.ExceptHandler, ast.Assign, ast.BoolOp, ast.AnnAssign) + FUNCTIONS
        ):
            if around is function:
                break
            if isinstance(around, ast.If) and re.search(
                r"None|not |hasattr|in self|getattr|worker", self.m.source.code(around.test, 400)
            ):
                return True
            if isinstance(around, (ast.ExceptHandler, ast.BoolOp)):
                return True
            if isinstance(around, (ast.Assign, ast.AnnAssign)):
                for t in around.targets if isinstance(around, ast.Assign) else [around.target]:
                    if on_self(t) or isinstance(t, ast.Subscript) or isinstance(t, ast.Name) and t.id in shared:
                        return True
                    if isinstance(t, ast.Name) and stored(function, t.id):
                        return True
        return isinstance(self.m.source.parents.get(call), ast.Return) and function.name not in BY_ITEM


def stored(function, name):
    """Whether a local name is put on self or into a container afterwards: "f = h5py.File(p); self.files[p] = f"."""

    def named(node):
        return isinstance(node, ast.Name) and node.id == name

    for n in ast.walk(function):
        if isinstance(n, ast.Assign) and named(n.value):
            if any(on_self(t) or isinstance(t, ast.Subscript) for t in n.targets):
                return True
        elif isinstance(n, ast.Return) and named(n.value) and function.name != "__getitem__":
            return True
        elif is_call(n, "append", "setdefault", "put", "set") and any(named(a) for a in n.args):
            return True
    return False


def cached(function):
    return any(
        re.search(r"cache|memo|property", last(d.func if isinstance(d, ast.Call) else d))
        for d in function.decorator_list
    )


def taint(function):
    """The local names that depend on a parameter, and so on the item."""
    found = set(parameters(function)) - {"self", "cls"}
    for _ in range(3):
        for n in ast.walk(function):
            pairs = []
            if isinstance(n, ast.Assign):
                pairs = [(t, n.value) for t in n.targets]
            elif isinstance(n, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)) and n.value is not None:
                pairs = [(n.target, n.value)]
            elif isinstance(n, (ast.For, ast.AsyncFor, ast.comprehension)):
                pairs = [(n.target, n.iter)]
            elif isinstance(n, (ast.With, ast.AsyncWith)):
                pairs = [(i.optional_vars, i.context_expr) for i in n.items if i.optional_vars is not None]
            for target, value in pairs:
                if names_in(value) & found or isinstance(n, (ast.For, ast.AsyncFor)):
                    found |= {
                        x.id for x in ast.walk(target) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)
                    }
    return found


def datasets(m):
    """The classes of a file that are datasets read by item."""
    found = []
    for owner in m.classes:
        methods = {n.name for n in owner.body if isinstance(n, FUNCTIONS)}
        bases = [m.source.code(b) for b in owner.bases]
        if not methods & {"__getitem__", "__getitems__"} or any(NO_DATASET.search(b) for b in bases):
            continue
        called = any("Dataset" in b or "Folder" in b for b in bases) or "dataset" in owner.name.lower()
        served = any(loader.serves(owner) for loader in m.loaders)
        if called or served:
            found.append(Items(m, owner))
    return found


def opens(m, node, table):
    """The word of a table for what a call opens, "" where it opens none of it, or is no call."""
    full = m.full(node.func) if isinstance(node, ast.Call) else ""
    full = full[5:] if full.startswith("self.") else full  # "self.h5py = h5py"
    head, dot, rest = full.partition(".")
    return table.get({"np": "numpy", "pd": "pandas", "h5": "h5py"}.get(head, head) + dot + rest, "")
