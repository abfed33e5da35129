"""Rules about how HDF5 files are written and cached."""


@rule("hdf5-chunks")
def hdf5_chunks(m):
    read = any(opens(m, c, HANDLES) == "HDF5 file" for c in m.calls) and any(by_number(items) for items in m.datasets)
    for call in m.calls:
        compression = keyword(call, "compression")
        if last(call.func) != "create_dataset" or compression is None:
            continue
        if isinstance(compression, ast.Constant) and compression.value is None:
            continue
        chunks = keyword(call, "chunks")
        rows = literal(chunks.elts[0]) if isinstance(chunks, ast.Tuple) and chunks.elts else (False, None)
        sure = LIKELY if read else POSSIBLE
        if chunks is None or is_true(chunks):
            yield Finding(
                call,
                "compressed, and h5py guesses the chunk: it spans several items, and one item unpacks all of them",
                sure,
            )
        elif rows[0] and isinstance(rows[1], int) and rows[1] > 1:
            yield Finding(
                call,
                "compressed in chunks of %d items: reading one unpacks %d, unless the chunk cache still has them"
                % (rows[1], rows[1]),
                sure,
            )


def by_number(items):
    """Whether an item is one row: looked up by the number that is asked for, not by a region made of it."""
    for name in ("__getitem__", "__getitems__"):
        function = items.methods.get(name)
        asked = set(parameters(function)) - {"self"} if function is not None else set()
        for n in ast.walk(function) if asked else []:
            if isinstance(n, ast.Subscript) and names_in(n.slice) & asked and numeric(n.slice):
                if not on_self(n.value) or isinstance(n.value, ast.Subscript) or handle(items, n.value):
                    return True
    return False


def numeric(node):
    """Whether an index is a name or a sum of such, and no region."""
    return not any(isinstance(n, (ast.Slice, ast.Tuple, ast.Subscript, ast.Call)) for n in ast.walk(node))


def handle(items, node):
    """Whether an attribute of self may be a dataset of an HDF5 file, rather than a list that was made."""
    made = [v for v in items.m.assigned(items.owner, on_self(node)) if v is not None and not isinstance(v, Item)]
    return any(isinstance(v, ast.Subscript) or opens(items.m, v, HANDLES) for v in made)


MOST_BOUND = 4  # assignments of a local name that are followed


@rule("hdf5-dataset-per-item")
def hdf5_dataset_per_item(m):
    for items in m.datasets:
        told = []
        for function in items.functions:
            for n in ast.walk(function):
                if not isinstance(n, ast.Subscript) or not items.varies(function, n.slice):
                    continue
                lookup = next(iter(looked_up(items, n.value) or []), None)
                around = m.source.parents.get(n)
                group = isinstance(around, ast.Subscript) and around.value is n
                if lookup is None or lookup in told or group or may_be_a_name(m, n.slice):
                    continue  # what is looked up for an item is a dataset of a group
                told.append(lookup)
                row = n.slice.elts[0] if isinstance(n.slice, ast.Tuple) and n.slice.elts else n.slice
                yield Finding(
                    lookup,
                    "the dataset is looked up by its name for each item (in %s): "
                    "its chunk cache ends with each of them" % function.name,
                    None if numeric(row) and items.varies(function, row) else POSSIBLE,
                )


def looked_up(items, node, passed=()):
    """The look-ups, by names that are written, from an HDF5 file that a dataset keeps to an expression, the last first:
    none of them where it is the file, None where it is neither, or is kept for later items itself.
    """
    m = items.m
    if isinstance(node, ast.Name) and len(passed) < DEEPEST:
        scope = m.scope(node)
        values = m.bound.get((id(scope), node.id), [])
        if node.id in passed or len(values) > MOST_BOUND:  # x = x["a"]
            return None
        bound = [(v, looked_up(items, v, passed + (node.id,))) for v in values]
        known = bound and all(found is not None and not (found and items.kept(scope, v)) for v, found in bound)
        return bound[0][1] if known else None
    if isinstance(node, ast.Attribute):
        made = m.assigned(items.owner, node.attr) if dotted(node.value) == "self" else []
        made = [v for v in made if not isinstance(m.source.parents.get(v), ast.withitem)]  # closed with the item
        return [] if any(opens(m, v, HANDLES) == "HDF5 file" for w in made for v in m.values(w)) else None
    source = node.value if isinstance(node, ast.Subscript) else receiver(node) if is_call(node, "get") else None
    name = node.slice if isinstance(node, ast.Subscript) else argument(node, 0) if source is not None else None
    before = looked_up(items, source, passed) if string(name) else None
    return None if before is None else [node] + before


def may_be_a_name(m, index):
    """Whether what an item is looked up by may be a name: "case_%d" % i, str(i), an item of file.keys()."""
    if any(isinstance(n, ast.Call) for n in ast.walk(index)):
        return True
    parts = [n for v in m.values(index) for n in ast.walk(v)]
    kept = [n for p in parts if isinstance(p, ast.Attribute) for v in m.values(p) for n in ast.walk(v)]
    return any(isinstance(n, ast.JoinedStr) or string(n) or is_call(n, "str", "format") for n in parts) or any(
        is_call(n, "keys") for n in kept
    )


@rule("hdf5-cache-unused")
def hdf5_cache_unused(m):
    for call in m.calls:
        if not is_call(call, "set_cache", "set_chunk_cache") or not isinstance(receiver(call), ast.Name):
            continue
        name, scope = receiver(call).id, m.scope(call)
        made = m.bound.get((id(scope), name), [])
        if not any(isinstance(v, ast.Call) and m.full(v.func) in ("h5py.h5p.create", "h5p.create") for v in made):
            continue
        used = [
            n
            for n in ast.walk(scope)
            if isinstance(n, ast.Name)
            and n.id == name
            and isinstance(n.ctx, ast.Load)
            and not isinstance(m.source.parents.get(n), ast.Attribute)
        ]
        if not used:
            yield Finding(
                call, "the chunk cache is set on a property list that no file is opened with: it has no effect"
            )
