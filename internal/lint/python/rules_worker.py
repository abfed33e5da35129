"""Rules about what workers inherit, keep and touch."""

import re


@rule("same-random-numbers")
def same_random_numbers(m):
    yield from inherited_generators(m)
    yield from fixed_seeds(m)
    for items in m.datasets:
        if items.workers() is False or any(loader.given("worker_init_fn") is not None for loader in items.loaders):
            continue
        for function, call in items.calls:
            seeds = is_call(call, "default_rng", "RandomState", "seed", "SeedSequence")
            if m.full(call.func).startswith(("numpy.random.", "np.random.")) and not seeds:
                yield Finding(
                    call,
                    "np.random in a worker: before PyTorch 1.9 every worker draws the same numbers, "
                    "since only random and torch are seeded there",
                    POSSIBLE,
                )
                break


def inherited_generators(m):
    """Generators that are made once and copied into each worker."""
    for items in m.datasets:
        init = items.methods.get("__init__")
        if init is None or items.workers() is False or reseeded(m, items):
            continue
        for f in items.functions:
            for n in ast.walk(f):
                if (
                    isinstance(n, ast.Attribute)
                    and isinstance(n.value, ast.Attribute)
                    and on_self(n) == n.value.attr
                    and drawn(m, n)
                ):
                    made = [v for v in m.assigned(items.owner, n.value.attr) if generator(m, v)]
                    if made and init in m.inside(made[0], FUNCTIONS):
                        yield Finding(
                            made[0],
                            "each worker gets a copy of this generator (self.%s) in the same state: "
                            "all draw the same numbers, "
                            "and with new workers the same ones again in every epoch" % n.value.attr,
                            SURE if items.workers() else LIKELY,
                        )
                        return


def drawn(m, node):
    parent = m.source.parents.get(node)
    return (
        isinstance(parent, ast.Call)
        and parent.func is node
        and node.attr not in ("seed", "manual_seed", "get_state", "set_state", "bit_generator")
    )


def generator(m, call):
    return is_call(call, "default_rng", "RandomState", "Random", "Generator") and m.full(call.func).startswith(
        ("numpy.random", "np.random", "random", "torch.Generator")
    )


def reseeded(m, items):
    """Whether the dataset or its loader sees to its own seeds in each worker."""
    if any(loader.given("worker_init_fn") is not None for loader in items.loaders):
        return True
    return any(
        isinstance(n, (ast.Attribute, ast.Name))
        and last(n) in ("get_worker_info", "worker_init_fn", "initial_seed", "manual_seed", "set_epoch")
        for n in ast.walk(items.owner)
    )


def fixed_seeds(m):
    """worker_init_fn that seeds each worker with the same number."""
    for loader in m.loaders:
        init = loader.given("worker_init_fn")
        if init is None or loader.has_workers() is False:
            continue
        functions = (
            [init]
            if isinstance(init, ast.Lambda)
            else m.functions.get(last(init), [])
            if isinstance(init, ast.Name)
            else []
        )
        for function in functions:
            own = {a.arg for a in function.args.args}
            for call in ast.walk(function):
                if not is_call(call, "seed", "manual_seed") or not call.args:
                    continue
                if not m.full(call.func).startswith(("numpy.random", "np.random", "random", "torch")):
                    continue
                seed = call.args[0]
                if isinstance(seed, ast.Constant) and isinstance(seed.value, int):
                    told = "every worker is seeded with %d: all draw the same numbers, in every epoch" % seed.value
                    yield Finding(call, told, SURE)
                elif isinstance(seed, ast.Name) and seed.id in own:
                    told = "the seed is the worker's number alone: each epoch draws the same numbers again"
                    yield Finding(call, told, LIKELY)


SHARDS = re.compile(r"worker|rank|shard|world_size|islice|num_replicas|split_by|IterDataPipe|subset|partition", re.I)


@rule("items-repeated")
def items_repeated(m):
    for owner in m.classes:
        own = next((n for n in owner.body if isinstance(n, FUNCTIONS) and n.name == "__iter__"), None)
        if (
            own is None
            or not any(last(b) == "IterableDataset" for b in owner.bases)
            or SHARDS.search(m.source.code(owner, 100_000))
        ):
            continue
        told = [loader.has_workers() for loader in m.loaders if loader.serves(owner)]
        inits = any(loader.given("worker_init_fn") is not None for loader in m.loaders)
        if told and all(t is False for t in told) or inits:
            continue
        yield Finding(
            own,
            "every worker goes through all of it: with several workers each item comes as often as there are workers",
            SURE if True in told else POSSIBLE,
        )


@rule("python-objects")
def python_objects(m):
    for items in m.datasets:
        init = items.methods.get("__init__")
        if init is None or items.workers() is False:
            continue
        for attribute in sorted(
            {on_self(n) for f in items.functions for n in ast.walk(f) if isinstance(n, ast.Subscript)} - {""}
        ):
            made = [v for v in m.assigned(items.owner, attribute) if v is not None and not isinstance(v, Item)]
            if any(isinstance(v, ast.Call) and not empty(v) for v in made):
                continue  # not known to be a list or a dict of this process: "manager.list()"
            grown = [
                n
                for n in ast.walk(init)
                if is_call(n, "append", "extend", "update")
                and on_self(receiver(n)) == attribute
                and m.inside(n, LOOPS)
                and not any(isinstance(a, ast.Call) and array(m, a) for a in n.args)
            ]
            comprehended = [
                v
                for v in made
                if isinstance(v, (ast.ListComp, ast.DictComp))
                and isinstance(getattr(v, "elt", None) or v.value, (ast.Dict, ast.Tuple, ast.List))
            ]
            if grown or comprehended:
                yield Finding(
                    (grown or comprehended)[0],
                    "self.%s is made of Python objects: reading one writes its reference count, so each worker "
                    "gets a copy of the pages over time" % attribute,
                )


def array(m, call):
    """Whether a call makes an array: one object, whose elements are none."""
    return m.full(call.func).split(".")[0] in ("numpy", "np", "torch")


@rule("cache-per-worker")
def cache_per_worker(m):
    for items in m.datasets:
        if items.workers() is False:
            continue
        for function in items.functions:
            for n in ast.walk(function):
                if not isinstance(n, ast.Assign) or not isinstance(n.targets[0], ast.Subscript):
                    continue
                attribute = on_self(n.targets[0])
                made = (
                    m.assigned(items.owner, attribute)
                    if attribute and isinstance(n.targets[0].value, ast.Attribute)
                    else []
                )
                if (
                    not any(empty(v) for v in made)
                    or not items.varies(function, n.targets[0].slice)
                    or opened(m, n.value)
                ):
                    continue
                yield Finding(
                    n,
                    "each worker fills a self.%s of its own: memory times workers, no item is shared, "
                    "and it is empty again in every "
                    "epoch without persistent_workers" % attribute,
                    LIKELY if reads(m, n.value) else POSSIBLE,
                )
                return


def empty(value):
    if isinstance(value, ast.Call):
        kinds = ("dict", "OrderedDict", "defaultdict", "list")
        return is_call(value, *kinds) and root(value.func) in kinds + ("collections",)
    if isinstance(value, ast.BinOp):  # [None] * n
        return isinstance(value.left, ast.List) or isinstance(value.right, ast.List)
    return isinstance(value, (ast.Dict, ast.List)) and not (value.keys if isinstance(value, ast.Dict) else value.elts)


def reads(m, value):
    """Whether a value is read from a file, by a call or a function of this file that makes one."""
    for v in m.values(value) + [value]:
        for call in ast.walk(v):
            if isinstance(call, ast.Call):
                function = m.local(call)
                called = (
                    [c for f in m.reached(function) for c in ast.walk(f) if isinstance(c, ast.Call)]
                    if function is not None
                    else [call]
                )
                if any(opens(m, c, PICTURES) or opens(m, c, WHOLE) for c in called):
                    return True
    return False


def opened(m, value):
    return any(opens(m, v, HANDLES) for v in m.values(value))


@rule("device-in-worker")
def device_in_worker(m):
    for items in m.datasets:
        if items.workers() is False:
            continue
        for function, call in items.calls:
            if not isinstance(call.func, ast.Attribute):
                continue
            where = call.args[0] if call.func.attr == "to" and call.args else None
            method = call.func.attr == "cuda" and not m.full(call.func).startswith("torch.")
            if method or string(where).startswith("cuda"):
                yield Finding(
                    call,
                    "a tensor is put on the GPU in %s: a forked worker cannot use CUDA, and the copy cannot overlap"
                    % function.name,
                )
                return
            if last(where) == "device":
                if isinstance(where, ast.Attribute) and items.varies(function, where):
                    continue  # where the item's own tensor is: "x.to(y.device)"
                yield Finding(
                    call,
                    "a tensor is put on a device in %s: a forked worker cannot use CUDA, and the copy cannot overlap"
                    % function.name,
                    POSSIBLE,
                )
                return
