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


@rule("hdf5-dataset-per-item")
def hdf5_dataset_per_item(m):
    for items in m.datasets:
        for function in items.functions:
            for n in ast.walk(function):
                if isinstance(n, ast.Subscript) and one_dataset(items, n.value) and items.varies(function, n.slice):
                    around = m.source.parents.get(n)
                    named = any(isinstance(x, (ast.Call, ast.JoinedStr)) for x in ast.walk(n.slice))
                    if named or isinstance(around, ast.Subscript) and around.value is n:
                        continue  # what is looked up for an item is a dataset of a group
                    yield Finding(
                        n.value,
                        "the dataset is looked up by its name for each item (in %s): "
                        "its chunk cache ends with each of them" % function.name,
                        None if numeric(n.slice) else POSSIBLE,
                    )


def one_dataset(items, node):
    """Whether an expression is self.file["name"] of an HDF5 file that a dataset keeps, by a name that is written."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return False
    file = node.value
    if not isinstance(file, ast.Attribute) or dotted(file.value) != "self":
        return False
    return any(opens(items.m, v, HANDLES) == "HDF5 file" for v in items.m.assigned(items.owner, file.attr))


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
