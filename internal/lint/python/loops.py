"""Loops over a loader: which loader, whether they train, and whether they are gone through again and again."""

import re

LOADER_NAME = re.compile(r"(^|_)(data_?)?loaders?($|_)|loader$|Loader$|(^|_)dl$|^dataiter$|data_iter(ator)?$")
NO_GRAD = re.compile(r"no_grad|inference_mode|set_grad_enabled|inference")
EPOCHS = re.compile(r"epoch", re.I)


class Steps:
    """A loop whose every turn takes a batch: as a for loop does, or by calling next()."""

    def __init__(self, m, loop, loaders, by_next=False):
        self.m, self.loop, self.loaders, self.by_next = m, loop, loaders, by_next
        self.nodes = list(m.within(loop))
        taken = [n for n in self.nodes if isinstance(n, ast.Assign) and takes(n.value)]
        self.targets = {x for n in taken for t in n.targets for x in names_in(t)} if by_next else names_in(loop.target)
        self.calls = [n for n in self.nodes if isinstance(n, ast.Call)]
        # a loss scaler may hide the backward pass, hardly ever both
        self.trains = any("backward" in last(c.func) or last(c.func) == "zero_grad" for c in self.all_calls())
        batch = set(self.targets)
        for _ in range(2):  # "images = batch['image']" and what is taken out of that
            for n in self.nodes:
                if isinstance(n, ast.Assign) and not isinstance(n.value, ast.Call) and root(n.value) in batch:
                    batch |= {x for t in n.targets if isinstance(t, (ast.Name, ast.Tuple)) for x in names_in(t)}
                elif isinstance(n, ast.comprehension) and root(n.iter) in batch:
                    batch |= names_in(n.target)
        self.batch = batch

    def all_calls(self):
        """The calls of a turn, those in functions of this file that it calls included."""
        for call in self.calls:
            yield call
            function = self.m.local(call)
            if function is not None:
                for inner in self.m.reached(function, 2):
                    yield from (n for n in ast.walk(inner) if isinstance(n, ast.Call))

    def guarded(self, node):
        """Whether a node is not done in every turn: an if, or an except, stands between it and the loop, or it leaves
        the loop.
        """
        for around in self.m.inside(node, (ast.stmt, ast.IfExp, ast.ExceptHandler)):
            if around is self.loop:
                return False
            if isinstance(around, (ast.If, ast.IfExp, ast.ExceptHandler)) or isinstance(around, LOOPS):
                return True
        return True

    def every_turn(self):
        """Calls that are made in every turn."""
        return sorted((c for c in self.calls if not self.guarded(c)), key=lambda c: (c.lineno, c.col_offset))

    def repeated(self):
        """The loop that this one is gone through again in: around it, or around a call of the function it stands in.
        Where batches are taken by next(), the loader begins anew only where iter() is called there.
        """
        again = repeated(self.m, self.loop, 0)
        if again is None or not self.by_next:
            return again
        own = self.m.inside(self.loop, FUNCTIONS)
        begun = (c for c in self.m.callers.get("iter", []) if isinstance(c.func, ast.Name))
        return (
            again
            if any(again in self.m.inside(c, LOOPS) or own and own[0] in self.m.inside(c, FUNCTIONS) for c in begun)
            else None
        )


def repeated(m, node, depth):
    function = next(iter(m.inside(node, FUNCTIONS)), None)
    for around in m.inside(node, LOOPS):
        if function is None or function in m.inside(around, FUNCTIONS):
            return around
    if function is None or depth > 2:
        return None
    for call in m.callers.get(function.name, []):
        if call_of(m, call, function):
            again = repeated(m, call, depth + 1)
            if again is not None and function not in m.inside(again, FUNCTIONS):
                return again
    return None


# What models and optimizers call their own methods, too.
EVERYBODYS = {"train", "eval", "step", "forward", "fit", "update", "test", "run", "__call__", "__init__"}


def call_of(m, call, function):
    """Whether a call of that name calls this function: by the name alone, or as a method that is self's or has a name
    of its own.
    """
    if not (m.inside(function, ast.ClassDef) and parameters(function)[:1] == ["self"]):
        return isinstance(call.func, ast.Name)
    return isinstance(call.func, ast.Attribute) and (
        dotted(call.func.value) == "self" or function.name not in EVERYBODYS
    )


def parts(node):
    """An expression and what is handed to the calls in it: "tqdm(enumerate(loader))"."""
    yield node
    if isinstance(node, ast.Call):
        for a in node.args + [k.value for k in node.keywords if k.arg in ("iterable", "loader", "dataloader")]:
            yield from parts(a)


def takes(node):
    """What next() is called on in an expression: "next(self.loader).to(device)"."""
    return next((n.args[0] for n in ast.walk(node) if by_name(n, "next") and n.args), None)


def by_name(node, name):
    """Whether a node calls a function of a name that is not taken out of anything."""
    return is_call(node, name) and isinstance(node.func, ast.Name)


def over(m, expression):
    """The loaders that an expression goes through, and whether it is called like one."""
    loaders, named = [], False
    for part in parts(expression):
        if not isinstance(part, (ast.Name, ast.Attribute, ast.Call)):
            continue
        for value in m.values(part):
            for inner in parts(value):  # "cycle(loader)", "accelerator.prepare(loader)"
                loaders += [
                    m.by_call[id(v)] for v in ([inner] if inner is value else m.values(inner)) if id(v) in m.by_call
                ]
        named = named or not isinstance(part, ast.Call) and bool(LOADER_NAME.search(last(part)))
    return list(dict.fromkeys(loaders)), named


def steps(m):
    """The loops over batches of a file: for loops over a loader, and loops that call next() on one. One whose first
    turn is its last takes a single batch, and is none.
    """
    found = []
    for loop in m.nodes:
        if isinstance(loop, LOOPS) and any(isinstance(n, (ast.Return, ast.Break)) for n in loop.body):
            continue
        if isinstance(loop, (ast.For, ast.AsyncFor)):
            loaders, named = over(m, loop.iter)
            if (loaders or named) and not is_call(loop.iter, "range", "items", "keys"):
                found.append(Steps(m, loop, loaders))
                continue
        if isinstance(loop, LOOPS):
            for expression in [takes(n.value) for n in loop.body if isinstance(n, ast.Assign)]:
                loaders, named = over(m, expression)
                if loaders or named:
                    found.append(Steps(m, loop, loaders, by_next=True))
                    break
    return found


def without_gradients(m, node):
    """Whether a node runs with gradients off, or may: by a with around it, a decorator, or a call of its function
    within such.
    """
    for around in m.inside(node, (ast.With, ast.AsyncWith)):
        if any(
            NO_GRAD.search(dotted(i.context_expr.func if isinstance(i.context_expr, ast.Call) else i.context_expr))
            for i in around.items
        ):
            return True
    for function in m.inside(node, FUNCTIONS):
        if any(NO_GRAD.search(m.source.code(d)) for d in function.decorator_list):
            return True
        if any(is_call(n, "set_grad_enabled") for n in ast.walk(function)):
            return True
    # before PyTorch 0.4
    return any(isinstance(n, ast.keyword) and n.arg == "volatile" and is_true(n.value) for n in ast.walk(node))


def epochs(m, loop):
    """Whether a loop goes over epochs: it says so."""
    return isinstance(loop, (ast.For, ast.AsyncFor)) and bool(
        EPOCHS.search(m.source.code(loop.target)) or EPOCHS.search(m.source.code(loop.iter))
    )
