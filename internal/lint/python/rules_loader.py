"""Rules about how loaders are made."""

import re

# Datasets that hold their items in memory and hand them out as they are.
IN_MEMORY = {"TensorDataset", "ArrayDataset", "list", "tensor", "arange", "randn", "zeros", "StackDataset"}
# Datasets that read and decode a file for each item.
READERS = re.compile(
    r"ImageFolder|DatasetFolder|ImageNet|CocoDetection|CocoCaptions|VOC\w+|Cityscapes|"
    r"Places365|CelebA|LSUN|Kinetics|UCF101|HMDB51|Flowers102|"
    r"OxfordIIITPet|Food101|WIDERFace|Kitti|INaturalist|LIBRISPEECH|SPEECHCOMMANDS"
)


@rule("workers-zero")
def workers_zero(m):
    readers = {items.owner.name: items for items in m.datasets}
    for loader in m.loaders:
        workers, unless = loader.usual_workers()
        if workers != 0 or not loader.plain:
            continue
        kinds = [last(v.func) if isinstance(v, ast.Call) else type(v).__name__ for v in loader.datasets()]
        if any(k in IN_MEMORY or k in ("List", "Tuple", "ListComp") for k in kinds):
            continue
        if (
            loader.given("num_workers") is None
            and loader.given("batch_size") is None
            and not loader.call.keywords
            and len(loader.call.args) < 2
        ):
            continue  # a look at single items
        reads = next((k for k in kinds if k in readers and reads_files(readers[k])), None) or next(
            (k for k in kinds if READERS.fullmatch(k)), None
        )
        about = "num_workers=0" if loader.given("num_workers") is not None else "no num_workers"
        about += unless
        if reads:
            yield Finding(
                loader.call,
                "%s: the training process reads and decodes each item of %s itself" % (about, reads),
                LIKELY if unless else SURE,
            )
        elif not any(k in readers for k in kinds):
            yield Finding(
                loader.call,
                "%s: the training process prepares each batch itself, and the GPU waits for it" % about,
                POSSIBLE,
            )


def reads_files(items):
    return any(
        opens(items.m, call, HANDLES) or opens(items.m, call, WHOLE) or opens(items.m, call, PICTURES)
        for _, call in items.calls
    )


@rule("needs-workers")
def needs_workers(m):
    for loader in m.loaders:
        if loader.workers != 0 or not loader.plain or not m.full(loader.call.func).startswith(("torch", "DataLoader")):
            continue
        for name in ("prefetch_factor", "persistent_workers", "multiprocessing_context"):
            value = loader.setting(name)
            if loader.given(name) is not None and value is not UNKNOWN and value not in (None, False, 0):
                yield Finding(
                    loader.given(name),
                    "%s is given, but there are no workers: PyTorch refuses this with a ValueError" % name,
                )


def loader_loops(m, loader):
    return [s for s in m.steps if loader in s.loaders]


@rule("workers-restart")
def workers_restart(m):
    for loader in m.loaders:
        if (
            loader.has_workers() is False
            or loader.setting("persistent_workers") not in (False, None)
            or not loader.plain
        ):
            continue
        for s in loader_loops(m, loader):
            again = s.repeated()
            if again is None or not epochs(m, again) or made_in(m, loader, again):
                continue
            sure = loader.sure()
            yield Finding(
                loader.call,
                "the workers end with every epoch (loop in line %d) and are started anew: persistent_workers is not set"
                % again.lineno,
                sure,
                [(loader.call, "persistent_workers", "True")] if sure == SURE else [],
            )
            break


def made_in(m, loader, loop):
    """Whether a loader is made anew in each turn of a loop: in it, or in a function that is called in it."""
    if loop in m.inside(loader.call, LOOPS):
        return True
    function = next(iter(m.inside(loader.call, FUNCTIONS)), None)
    return function is not None and any(
        is_call(n, function.name) and call_of(m, n, function) for n in m.within(loop)
    )


@rule("loader-per-epoch")
def loader_per_epoch(m):
    for loader in m.loaders:
        if loader.has_workers() is False or not loader.plain:
            continue
        for s in loader_loops(m, loader):
            again = s.repeated()
            if (
                again is not None
                and epochs(m, again)
                and made_in(m, loader, again)
                and not under_condition(m, loader.call, again)
            ):
                yield Finding(
                    loader.call,
                    "a DataLoader is made anew in every epoch (loop in line %d): its workers start again, "
                    "and persistent_workers cannot help" % again.lineno,
                    loader.sure(),
                )
                break


def under_condition(m, node, loop):
    for around in m.inside(node, (ast.If, ast.ExceptHandler) + LOOPS):
        if around is loop:
            return False
        if isinstance(around, ast.If):
            return True
    return False


@rule("one-worker")
def one_worker(m):
    for loader in m.loaders:
        workers, unless = loader.usual_workers()
        if workers == 1:
            yield Finding(
                loader.given("num_workers") or loader.call,
                "num_workers=1%s: one process prepares all batches, whatever the CPUs could do" % unless,
            )


@rule("prefetch-one")
def prefetch_one(m):
    for loader in m.loaders:
        if (
            loader.setting("prefetch_factor") == 1
            and loader.given("prefetch_factor") is not None
            and loader.has_workers() is not False
        ):
            yield Finding(
                loader.given("prefetch_factor"),
                "prefetch_factor=1: each worker has one batch ready at most, so one slow batch holds up the step",
            )


@rule("spawn-start")
def spawn_start(m):
    restarts = list(workers_restart(m)) or list(loader_per_epoch(m))
    if not restarts:
        return
    for call in m.callers.get("set_start_method", []):
        if string(argument(call, 0, "method")) == "spawn":
            yield Finding(
                call,
                "workers are spawned, and those of line %d anew in every epoch: "
                "each start imports torch and unpickles the dataset again" % restarts[0].node.lineno,
            )
    for loader in m.loaders:
        if loader.setting("multiprocessing_context") == "spawn" and any(f.node is loader.call for f in restarts):
            yield Finding(
                loader.given("multiprocessing_context"),
                "workers are spawned anew in every epoch: each start imports torch and unpickles the dataset again",
            )


@rule("batch-one")
def batch_one(m):
    for loader in m.loaders:
        if loader.setting("batch_size") == 1 and loader.given("batch_size") is not None and loader.plain:
            evaluates = loops_evaluate(m, loader)
            yield Finding(
                loader.given("batch_size"),
                "batch_size=1%s: the GPU gets one item at a time, with the full cost of a step for each"
                % (" in evaluation" if evaluates else ""),
            )


def loops_evaluate(m, loader):
    over = loader_loops(m, loader)
    return bool(over) and all(without_gradients(m, s.loop) for s in over)


@rule("collate-padding")
def collate_padding(m):
    named = {last(v) for loader in m.loaders for v in [loader.given("collate_fn")] if v is not None}
    for name, functions in m.functions.items():
        if name not in named and "collate" not in name.lower():
            continue
        for function in functions:
            for loop in (n for n in ast.walk(function) if isinstance(n, LOOPS + (ast.ListComp,))):
                for call in ast.walk(loop):
                    if is_call(call, "cat", "concatenate", "hstack", "vstack", "pad") and pads(m, call):
                        yield Finding(
                            call,
                            "each sample of a batch is padded into a tensor of its own, and then all are copied again",
                        )
                        break
                else:
                    continue
                break


def pads(m, call):
    """Whether a call makes a longer copy of a sample: what is missing is a difference, of zeros or as pad takes it."""
    if last(call.func) == "pad":
        return root(call.func) in ("F", "np", "torch", "nn", "functional", "numpy") and any(
            difference(a) for a in call.args[1:]
        )
    if not call.args or not isinstance(call.args[0], (ast.List, ast.Tuple)):
        return False
    return any(
        is_call(v, "zeros", "full", "new_zeros", "new_full") and any(difference(a) for a in v.args)
        for part in call.args[0].elts
        for v in m.values(part)
    )


def difference(node):
    return any(isinstance(n, (ast.Sub, ast.USub)) for n in ast.walk(node))
