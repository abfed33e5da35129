"""Rules about the loop over batches."""

import re

ON_DEVICE = re.compile(r"loss|acc(uracy)?\d?$|correct|pred|logit|output|norm|metric|score|err", re.I)


@rule("pinned-but-blocking")
def pinned_but_blocking(m):
    for s in m.steps:
        if not s.loaders or not all(loader.setting("pin_memory") is True for loader in s.loaders):
            continue
        blocking = [c for c in s.calls if copies(m, s, c) and not overlapping(c)]
        if blocking and not any(copies(m, s, c) and overlapping(c) for c in s.calls):
            yield Finding(
                min(blocking, key=lambda c: (c.lineno, c.col_offset)),
                "the batch is pinned (pin_memory=True, line %d) but copied without non_blocking=True: "
                "the host waits for each copy" % s.loaders[0].call.lineno,
                None,
                [(c, "non_blocking", "True") for c in blocking],
            )


@rule("non-blocking-but-pageable")
def non_blocking_but_pageable(m):
    if any(last(c.func) == "pin_memory" for c in m.calls):
        return
    for loader in m.loaders:
        if loader.setting("pin_memory") is not False or not loader.plain:
            continue
        for s in (s for s in m.steps if s.loaders == [loader]):
            overlaps = [c for c in s.calls if copies(m, s, c) and overlapping(c)]
            if overlaps:
                yield Finding(
                    loader.call,
                    "batches are copied with non_blocking=True (line %d), which does nothing from pageable memory: "
                    "pin_memory is not set" % overlaps[0].lineno,
                    None,
                    [(loader.call, "pin_memory", "True")],
                )
                break


def copies(m, s, call):
    """Whether a call copies a part of the batch to the device."""
    if receiver(call) is None or not is_call(call, "to", "cuda") or root(receiver(call)) not in s.batch:
        return False
    if call.func.attr == "cuda":
        return True
    where = argument(call, 0, "device")
    if where is None or isinstance(where, ast.Constant) and not str(where.value).startswith("cuda"):
        return False
    return (
        last(where) in ("device", "gpu", "rank", "local_rank", "DEVICE", "dev")
        or isinstance(where, (ast.Constant, ast.Call))
        or "device" in dotted(where).lower()
    )


def overlapping(call):
    at = 0 if call.func.attr == "cuda" else 1
    return keyword(call, "non_blocking") is not None or len(call.args) > at + (call.func.attr == "cuda")


def on_gpu(m):
    """Whether the file speaks of a device at all."""
    return (
        any(isinstance(n, ast.Attribute) and n.attr in ("cuda", "to", "device") for n in m.nodes)
        or "accelerat" in m.source.text.lower()
    )


@rule("sync-every-step")
def sync_every_step(m):
    if not on_gpu(m):
        return
    for s in m.steps:
        if not s.trains:
            continue
        waits = [(c, how) for c in s.every_turn() for how in [waiting(m, s, c)] if how]
        if waits:
            others = sorted({c.lineno for c, _ in waits} - {waits[0][0].lineno})
            more = " (and in line %s)" % ", ".join(map(str, others)) if others else ""
            yield Finding(
                waits[0][0],
                "%s in every step: the host waits until the GPU has finished, and prepares nothing meanwhile%s"
                % (waits[0][1], more),
            )


def waiting(m, s, call):
    """What a call makes the host wait for, "" where nothing."""
    if receiver(call) is not None and is_call(call, "item", "tolist", "cpu") and not call.args:
        return "%s()" % m.source.code(call.func, 40) if computed(m, s, call.func.value) else ""
    if (by_name(call, "float") or by_name(call, "int")) and len(call.args) == 1 and a_loss(call.args[0]):
        return m.source.code(call, 40) if computed(m, s, call.args[0]) else ""
    if by_name(call, "print"):
        for a in call.args:
            shown = [a] + [v.value for v in ast.walk(a) if isinstance(v, ast.FormattedValue)]
            losses = [v for v in shown if a_loss(v)]
            if any(computed(m, s, v) and tensor(m, s, v) for v in losses):
                return "print of %s" % losses[0].id
    return ""


def a_loss(node):
    return isinstance(node, ast.Name) and re.search("loss", node.id) is not None


def assigned_in(s, name):
    return [
        n.value
        for n in s.nodes
        if isinstance(n, (ast.Assign, ast.AugAssign))
        for t in (n.targets if isinstance(n, ast.Assign) else [n.target])
        if name in names_in(t) and n.value is not None
    ]


def computed(m, s, node):
    """Whether something is made on the device in this turn."""
    name = root(node)
    if (
        not name
        or name in s.batch
        or name in ("np", "numpy", "math", "time")
        or name == "self"
        and not ON_DEVICE.search(last(node))
    ):
        return False
    values = assigned_in(s, name)
    if values and all(re.search(r"\.(item|cpu|numpy|tolist)\(|^float\(", m.source.code(v, 400)) for v in values):
        return False
    if isinstance(node, ast.Name) or values:
        return any(isinstance(n, ast.Call) for v in values for n in ast.walk(v)) and (
            bool(ON_DEVICE.search(name)) or any(root(v) not in s.batch for v in values)
        )
    return bool(ON_DEVICE.search(name)) and name not in m.names.imported


def tensor(m, s, name):
    """Whether a name is assigned a tensor, not a number that was taken out of one."""
    return any(
        isinstance(v, ast.Call) and not re.search(r"\.item\(|float\(", m.source.code(v, 400))
        for v in assigned_in(s, name.id)
    )


@rule("iter-per-step")
def iter_per_step(m):
    for call in m.calls:
        begun = call.args[0] if by_name(call, "next") and call.args else None
        if not by_name(begun, "iter") or not begun.args:
            continue
        loop = next(iter(m.inside(call, LOOPS + FUNCTIONS)), None)
        loaders, named = over(m, begun.args[0])
        if (
            isinstance(loop, LOOPS)
            and (loaders or named)
            and not under_condition(m, call, loop)
            and not epochs(m, loop)
        ):
            known = {loader.has_workers() for loader in loaders}
            yield Finding(
                call,
                "the loader begins anew in every turn: its order is drawn, its workers start and fill their queue, "
                "and one batch is taken",
                SURE if known == {True} else POSSIBLE if known == {False} else None,
            )


RUNS_DRY = "the GPU runs dry before the next step is given to it"
STOPS = {
    "torch.cuda.empty_cache": RUNS_DRY,
    "torch.cuda.synchronize": RUNS_DRY,
    "gc.collect": "the host searches all objects",
}


@rule("stop-every-step")
def stop_every_step(m):
    for s in m.steps:
        for call in s.every_turn():
            name = m.full(call.func)
            if name in STOPS:
                yield Finding(call, "%s() in every step: %s" % (name, STOPS[name]))


@rule("eval-without-no-grad")
def eval_without_no_grad(m):
    if any(
        last(c.func) in ("set_grad_enabled", "no_grad", "inference_mode")
        and isinstance(m.source.parents.get(c), ast.Expr)
        for c in m.calls
    ):
        return
    for s in m.steps:
        function = next(iter(m.inside(s.loop, FUNCTIONS)), None)
        if s.trains or without_gradients(m, s.loop):
            continue
        evaluated = {
            dotted(c.func.value)
            for c in ast.walk(function or m.tree)
            if is_call(c, "eval")
            and receiver(c) is not None
            and not c.args
            and (c.lineno < s.loop.lineno or s.loop in m.inside(c, LOOPS))
            and m.scope(c) is m.scope(s.loop)
        }
        used = [  # what an except does is the second choice, of a model that needs gradients
            c
            for c in s.calls
            if dotted(c.func) in evaluated and not without_gradients(m, c) and not m.inside(c, ast.ExceptHandler)
        ]
        if not used or gradients_wanted(m, s) or called_without(m, function):
            continue
        yield Finding(
            used[0],
            "%s is evaluated without torch.no_grad() or torch.inference_mode(): "
            "the graph of every batch is kept until its result is dropped" % m.source.code(used[0].func, 40),
        )


def gradients_wanted(m, s):
    return any(
        last(c.func) in ("grad", "backward", "requires_grad_", "jacobian", "attribute")
        or "grad" in last(c.func)
        and "no_grad" not in last(c.func)
        for c in s.all_calls()
    ) or any(isinstance(n, ast.Attribute) and n.attr in ("requires_grad", "grad") for n in s.nodes)


def called_without(m, function):
    """Whether a function is called within no_grad wherever the file calls it."""
    calls = m.callers.get(function.name, []) if function is not None else []
    return bool(calls) and all(without_gradients(m, c) for c in calls)


@rule("eval-item-by-item")
def eval_item_by_item(m):
    for loop in m.nodes:
        if not isinstance(loop, ast.For) or not is_call(loop.iter, "range", "tqdm", "trange"):
            continue
        body = list(m.within(loop))
        calls = [n for n in body if isinstance(n, ast.Call)]
        if not isinstance(loop.target, ast.Name) or any("backward" in last(c.func) for c in calls):
            continue
        quiet = without_gradients(m, loop) or any(without_gradients(m, c) for c in calls)
        taken = [
            n
            for n in body
            if isinstance(n, ast.Subscript)
            and isinstance(n.slice, ast.Name)
            and n.slice.id == loop.target.id
            and re.search(r"(dataset|_ds|^ds|data_set|val_set|test_set|_segs|valset|testset)$", last(n.value))
        ]
        runs = [
            c
            for c in calls
            if re.search(r"(^|_)(model|net|network|encoder|classifier)$", last(c.func))
            and isinstance(c.func, (ast.Name, ast.Attribute))
        ]
        if quiet and taken and runs:
            yield Finding(
                runs[0],
                "the model is run on one item of %s at a time, and nothing is read ahead"
                % m.source.code(taken[0].value, 40),
            )
