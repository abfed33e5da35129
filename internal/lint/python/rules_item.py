"""Rules about what is done again for each item."""

import re


def each(m):
    """(dataset, function, call) of everything that is called for an item."""
    for items in m.datasets:
        for function, call in items.calls:
            yield items, function, call


def path_of(call):
    return argument(call, 0, "name", "file", "path", "filename", "fp", "filepath_or_buffer", "uri")


@rule("hdf5-opened-per-item")
def hdf5_opened_per_item(m):
    for items, function, call in each(m):
        if opens(m, call, HANDLES) == "HDF5 file" and not items.kept(function, call):
            which = "an" if path_of(call) is not None and items.varies(function, path_of(call)) else "the"
            yield Finding(
                call,
                "%s HDF5 file is opened for each item (in %s): "
                "each open reads its metadata again and throws the chunk cache away" % (which, function.name),
            )


@rule("file-opened-per-item")
def file_opened_per_item(m):
    for items, function, call in each(m):
        word, path = opens(m, call, HANDLES), path_of(call)
        if (
            not word
            or word == "HDF5 file"
            or items.kept(function, call)
            or path is None
            or items.varies(function, path)
            or writes(call)
        ):
            continue
        if on_self(path) or isinstance(path, ast.Constant) or names_in(path):
            yield Finding(call, "the same %s is opened again for each item (in %s)" % (word, function.name))


def writes(call):
    mode = string(argument(call, 1, "mode"))
    return re.search("[wax]", mode) is not None and "r" not in mode


@rule("file-per-item")
def file_per_item(m):
    for items, function, call in each(m):
        word = opens(m, call, PICTURES)
        if not word or not call.args or any(is_call(v, "BytesIO", "StringIO") for v in m.values(argument(call, 0))):
            continue
        if items.varies(function, call.args[0]) and not items.kept(function, call):
            yield Finding(
                call, "%s opens a file of its own for each item: small files cost a lookup and a read each" % word
            )
            break


@rule("whole-file-per-item")
def whole_file_per_item(m):
    for items, function, call in each(m):
        word, path = opens(m, call, WHOLE), path_of(call)
        if not word or items.kept(function, call) or path is None:
            continue
        if word == "np.load" and keyword(call, "mmap_mode") is not None:
            continue
        if word in ("pickle.load", "json.load", "yaml.load", "yaml.safe_load"):
            # what the file was opened by tells which it is
            opened = [v for v in m.values(path) if isinstance(v, ast.Call) and v.args]
            path = opened[0].args[0] if opened else path
        if items.varies(function, path):
            if word in ("torch.load", "pickle.load", "pickle.loads", "pd.read_csv", "joblib.load"):
                yield Finding(
                    call,
                    "%s for each item: unpickling or parsing takes the worker's CPU%s"
                    % (word, "" if word == "pickle.loads" else ", and the file is read whole"),
                    POSSIBLE,
                )
        elif on_self(path) or isinstance(path, ast.Constant):
            yield Finding(call, "%s reads the same file whole for each item" % word, SURE)


LISTING = {"keys", "listdir", "glob", "iglob", "rglob", "iterdir", "items"}


@rule("keys-per-item")
def keys_per_item(m):
    for items, function, call in each(m):
        name = last(call.func)
        inner = call.args[0] if call.args else None
        if name in ("sorted", "list") and isinstance(call.func, ast.Name) and inner is not None:
            keys = is_call(inner, *LISTING)
            asked = inner if name == "sorted" else inner.func if keys else None
            if (
                asked is None
                or not constant_of_self(items, function, asked)
                or name == "sorted"
                and not (keys or isinstance(inner, ast.Attribute))
            ):
                continue
            what = "sorts" if name == "sorted" else "lists"
            handles = [v for v in m.assigned(items.owner, on_self(asked)) if v is not None and not isinstance(v, Item)]
            plain = (
                name == "list"
                and last(inner.func) in ("keys", "items")
                and not any(opens(m, h, HANDLES) for h in handles)
            )
            yield Finding(
                call,
                "%s %s for each item, always the same" % (what, m.source.code(inner, 40)),
                POSSIBLE if plain and handles else None,
            )
        elif (
            name in ("listdir", "glob", "scandir")
            and inner is not None
            and on_self(inner)
            and not items.varies(function, inner)
        ):
            if not is_call(m.source.parents.get(call), "sorted", "list") and not items.kept(function, call):
                yield Finding(call, "lists the folder %s for each item" % m.source.code(inner, 40))


def constant_of_self(items, function, node):
    """Whether an expression is of self alone, and not of the item."""
    names = names_in(node) - {"os", "glob", "np", "sorted", "list"}
    return names == {"self"} and not items.varies(function, node) and not items.kept(function, node)


@rule("threads-in-workers")
def threads_in_workers(m):
    for items, function, call in each(m):
        pool = is_call(call, "ThreadPoolExecutor", "ProcessPoolExecutor", "ThreadPool", "Pool")
        if pool and not items.kept(function, call):
            yield Finding(
                call,
                "%s is started for each item: pools within workers take the cores of other workers" % last(call.func),
                SURE,
            )
    within = {f for items in m.datasets for f in items.functions}
    for loader in m.loaders:
        init = loader.given("worker_init_fn")
        within |= set(m.functions.get(last(init), [])) if init is not None else set()
    for function in within:
        for call in ast.walk(function):
            if is_call(call, "set_num_threads", "setNumThreads") and call.args:
                written, n = literal(call.args[0])
                if written and isinstance(n, int) and n > 1:
                    yield Finding(
                        call,
                        "%d threads in each worker: workers are many already, "
                        "and PyTorch gives each one thread for that reason" % n,
                    )


# What a worker may not touch, or only once it has opened it itself.
INHERITED = set(HANDLES.values()) - {"Zarr store", "file"}


@rule("handle-shared")
def handle_shared(m):
    for items in m.datasets:
        init = items.methods.get("__init__")
        minded = {"__getstate__", "__setstate__", "worker_init"} & set(items.methods)
        if init is None or items.workers() is False or minded:
            continue
        begins = [f for f in m.reached(init) if f not in items.functions]
        read = {
            n.attr
            for f in items.functions
            for n in ast.walk(f)
            if isinstance(n, ast.Attribute) and on_self(n) == n.attr and isinstance(n.ctx, ast.Load)
        }
        for attribute in sorted(read):
            values = [v for v in m.assigned(items.owner, attribute) if v is not None]
            opened = [
                c
                for v in values
                if not isinstance(v, Item)
                for c in [opening(m, x) for x in m.values(v)]
                if c is not None and set(begins) & set(m.inside(c, FUNCTIONS))
            ]
            if not opened or reset(items, attribute, init, begins):
                continue
            call = opened[0]
            word = opens(m, call, HANDLES)
            if word in INHERITED:
                sure = LIKELY if items.workers() is None else SURE
                forked = "may not use it (LMDB)" if word == "LMDB environment" else "share one position and one cache"
                yield Finding(
                    call,
                    "the %s is opened in __init__ and read by every worker through self.%s: "
                    "forked workers %s, spawned ones cannot pickle it" % (word, attribute, forked),
                    sure,
                )


def opening(m, value):
    """The call that opens what an expression is: "h5py.File(p)", "h5py.File(p)['x']", or "self.file['x']" of such."""
    part = isinstance(value, ast.Subscript)
    while isinstance(value, ast.Subscript):
        value = value.value
    found = m.values(value) if part else [value]
    return next((v for v in found if opens(m, v, HANDLES)), None)


def reset(items, attribute, init, begins):
    """Whether a handle is let go of at the end of __init__, or opened again where it is used. begins: the functions
    that run in __init__ and for no item.
    """
    for n in ast.walk(init):
        if is_call(n, "close") and on_self(receiver(n)) == attribute:
            return True
        if isinstance(n, ast.Delete) and any(on_self(t) == attribute for t in n.targets):
            return True
    for f in items.methods.values():
        for s in ast.walk(f):
            if isinstance(s, ast.Assign) and any(on_self(t) == attribute for t in s.targets):
                nothing = isinstance(s.value, ast.Constant) and s.value.value is None
                if f is init and nothing and s is not first_of(init, attribute) or f not in begins and not nothing:
                    return True
    return False


def first_of(init, attribute):
    return min(
        (s for s in ast.walk(init) if isinstance(s, ast.Assign) and any(on_self(t) == attribute for t in s.targets)),
        key=lambda s: s.lineno,
    )


@rule("gzip-random-access")
def gzip_random_access(m):
    for items in m.datasets:
        for call in (n for f in items.functions for n in ast.walk(f)):
            if not is_call(call, "seek", "extractfile", "extract", "getmember"):
                continue
            attribute = on_self(receiver(call))
            made = m.assigned(items.owner, attribute) if attribute else m.values(receiver(call))
            if any(packed(m, v) for v in made):
                yield Finding(
                    call,
                    "an item in the middle of a compressed stream: everything before it is unpacked again to reach it",
                )


def packed(m, call):
    word = opens(m, call, HANDLES)
    if word in ("gzip file", "bzip2 file", "xz file"):
        return True
    return word == "tar archive" and (
        re.search("gz|bz2|xz", string(argument(call, 1, "mode"))) is not None
        or re.search(r"\.(tgz|gz|bz2|xz)$", string(path_of(call))) is not None
    )
