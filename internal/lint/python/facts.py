"""What a file says that the rules ask for: what a name stands for, its loaders and their settings, its functions and
who calls them.
"""

import ast

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
SURE, LIKELY, POSSIBLE = "sure", "likely", "possible"
DEEPEST = 7  # assignments, calls and returns that are followed one behind the other,
MOST_FOLLOWED = 400  # and in all, for one expression
UNKNOWN = object()  # a value that does not stand in the file


class Finding:
    """One place that a rule speaks of. certainty: None is what the catalogue says. edits: (call, keyword, value as
    written).
    """

    def __init__(self, node, message, certainty=None, edits=()):
        self.node, self.message, self.certainty, self.edits = node, message, certainty, list(edits)


class Item:
    """One value out of several that are assigned together."""

    def __init__(self, value, index):
        self.value, self.index = value, index


def root(node):
    """The name that a chain of attributes, items and calls begins with."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call, ast.Starred)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def receiver(call):
    """What the method that is called is taken out of, None for a function by its name."""
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def keyword(call, *names):
    return next((k.value for k in call.keywords if k.arg in names), None)


def argument(call, position, *names):
    """What a call gives for a parameter, by name or by position."""
    given = keyword(call, *names)
    if (
        given is None
        and 0 <= position < len(call.args)
        and not any(isinstance(a, ast.Starred) for a in call.args[: position + 1])
    ):
        given = call.args[position]
    return given


def names_in(node):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def on_self(node):
    """The attribute of self that an expression is, or is a part of."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            return node.attr
        node = node.value
    return ""


def is_true(node):
    return isinstance(node, ast.Constant) and node.value is True


def parameters(function):
    a = function.args
    return [p.arg for p in a.posonlyargs + a.args + a.kwonlyargs]


class Module:
    """A parsed file. Names are those of patch's call.py."""

    def __init__(self, source):
        self.source, self.tree, self.names = source, source.tree, Names(source.tree)
        self.nodes = list(ast.walk(source.tree))
        self.calls = [n for n in self.nodes if isinstance(n, ast.Call)]
        self.classes = [n for n in self.nodes if isinstance(n, ast.ClassDef)]
        self.functions, self.callers, self.bound, self.returns, self.known = {}, {}, {}, {}, {}
        self.followed = 0
        for node in self.nodes:
            if isinstance(node, FUNCTIONS):
                self.functions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Call):
                self.callers.setdefault(last(node.func), []).append(node)
            elif isinstance(node, ast.Return) and node.value is not None:
                self.returns.setdefault(id(self.scope(node)), []).append(node.value)
            self.bind(node)
        self.loaders = [
            Loader(self, t)
            for t in filter(None, (self.names.target(source, c) for c in self.calls))
            if is_loader(t, self)
        ]
        self.by_call = {id(loader.call): loader for loader in self.loaders}

    def full(self, node):
        """The dotted name of a function or class with its module: "h5py.File"."""
        return self.names.module(dotted(node))

    def scope(self, node):
        return next(iter(self.source.inside(node, FUNCTIONS)), self.tree)

    def inside(self, node, kinds):
        return self.source.inside(node, kinds)

    def bind(self, node):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.record(target, node.value, node)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr, ast.AugAssign)) and node.value is not None:
            self.record(node.target, node.value, node)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if item.optional_vars is not None:
                    self.record(item.optional_vars, item.context_expr, node)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self.record(node.target, None, node)

    def record(self, target, value, at):
        if isinstance(target, ast.Name):
            self.bound.setdefault((id(self.scope(at)), target.id), []).append(value)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
            for owner in self.inside(at, ast.ClassDef)[:1]:
                self.bound.setdefault((id(owner), "self." + target.attr), []).append(value)
        elif isinstance(target, ast.Attribute):
            self.bound.setdefault((id(self.tree), dotted(target)), []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
            for i, t in enumerate(target.elts):
                self.record(t, value.elts[i] if same else None if value is None else Item(value, i), at)

    def assigned(self, owner, attribute):
        """What a class assigns to an attribute of self."""
        return self.bound.get((id(owner), "self." + attribute), [])

    def values(self, node, depth=0):
        """What an expression may be, as far as the file says: through names, parameters, attributes of self and local
        functions. None, for one that is not there, is nothing.
        """
        if depth == 0:
            if id(node) not in self.known:
                self.followed = 0
                self.known[id(node)] = self.values(node, 1)
            return self.known[id(node)]
        self.followed += 1
        if node is None or depth > DEEPEST or self.followed > MOST_FOLLOWED:
            return []
        if isinstance(node, Item):
            found = []
            for value in self.values(node.value, depth + 1):
                if isinstance(value, (ast.Tuple, ast.List)) and node.index < len(value.elts):
                    found += self.values(value.elts[node.index], depth + 1)
            return found
        if isinstance(node, ast.Name):
            for scope in self.inside(node, FUNCTIONS) + [self.tree]:
                bound = self.bound.get((id(scope), node.id))
                found = [v for b in bound or [] for v in self.values(b, depth + 1)]
                if isinstance(scope, FUNCTIONS) and node.id in parameters(scope):
                    # what is passed, and what the name is bound to anew: "loader = tqdm(loader)"
                    return found + self.passed(scope, node.id, depth) or [node]
                if bound:
                    return found
        if isinstance(node, ast.Attribute) and dotted(node.value) == "self":
            for owner in self.inside(node, ast.ClassDef)[:1]:
                bound = self.assigned(owner, node.attr)
                if bound:
                    return [v for b in bound for v in self.values(b, depth + 1)]
        if isinstance(node, ast.IfExp):
            return self.values(node.body, depth + 1) + self.values(node.orelse, depth + 1)
        if isinstance(node, ast.Call):
            function = self.local(node)
            if function is not None and self.returns.get(id(function)):
                return [v for r in self.returns[id(function)] for v in self.values(r, depth + 1)]
        return [node]

    def passed(self, function, name, depth):
        """What the calls of a function pass for a parameter, as far as it is told apart from others of its name."""
        plain, found = parameters(function), []
        at = plain.index(name) - (plain[:1] in (["self"], ["cls"]))
        owner = next(iter(self.inside(function, (ast.ClassDef,) + FUNCTIONS)), None)
        makes = function.name == "__init__" and isinstance(owner, ast.ClassDef)
        if not makes and len(self.functions[function.name]) > 1:
            return []
        for call in self.callers.get(owner.name if makes else function.name, []):
            given = argument(call, at, name)
            if given is not None:
                found += self.values(given, depth + 1)
        return found

    def default(self, node):
        """The default of a parameter that a name is, or of the option that an attribute is named after."""
        if is_call(node, "int") and node.args:
            node = node.args[0]
        if isinstance(node, ast.Name):
            for function in self.inside(node, FUNCTIONS):
                a = function.args
                plain = a.posonlyargs + a.args
                defaults = dict(zip([p.arg for p in plain][len(plain) - len(a.defaults) :], a.defaults))
                defaults.update({p.arg: d for p, d in zip(a.kwonlyargs, a.kw_defaults) if d is not None})
                if node.id in parameters(function):
                    return defaults.get(node.id)
        if isinstance(node, ast.Attribute):
            written = [v for v in self.bound.get((id(self.tree), dotted(node)), []) if isinstance(v, ast.Constant)]
            if written:  # "args.workers = 0", whatever the option's default is
                return written[-1]
            set_so = [keyword(c, node.attr) for c in self.callers.get("set_defaults", []) if keyword(c, node.attr)]
            if set_so:  # several are of several parsers
                return set_so[0] if len(set_so) == 1 else None
            for call in self.callers.get("add_argument", []):
                if node.attr in [dest(word) for word in words(call)]:
                    return keyword(call, "default")
        return None

    def switched_off(self, node):
        """Whether an if on a parameter stands before a node that is False by default and that no call here gives."""
        for around in self.inside(node, ast.If):
            function = self.scope(around)
            if not isinstance(around.test, ast.Name) or not isinstance(function, FUNCTIONS):
                continue
            within = any(s in self.inside(node, ast.stmt) for s in around.body)
            default = self.default(around.test) if within and around.test.id in parameters(function) else None
            if (
                isinstance(default, ast.Constant)
                and not default.value
                and not self.passed(function, around.test.id, 1)
                and not self.bound.get((id(function), around.test.id))
            ):
                return True
        return False

    def local(self, call):
        """The function of this file that a call calls: by its name, or by self and its name."""
        found = self.functions.get(last(call.func), [])
        if isinstance(call.func, ast.Attribute):
            if dotted(call.func.value) != "self":
                return None
            own = [f for f in found if self.inside(f, ast.ClassDef)[:1] == self.inside(call, ast.ClassDef)[:1]]
            found = own or found
        elif not isinstance(call.func, ast.Name):
            return None
        return found[0] if len(found) == 1 else None

    def reached(self, function, depth=3):
        """A function and those of this file that it calls."""
        found, todo = [function], [(function, 0)]
        while todo:
            node, deep = todo.pop()
            for call in ast.walk(node):
                other = self.local(call) if isinstance(call, ast.Call) else None
                if other is not None and other not in found and deep < depth:
                    found.append(other)
                    todo.append((other, deep + 1))
        return found

    def within(self, node):
        """The nodes of a loop's or a function's body, those of functions that are defined in it left out."""
        todo = list(node.body)
        while todo:
            n = todo.pop()
            yield n
            if not isinstance(n, FUNCTIONS + (ast.ClassDef, ast.Lambda)):
                todo += ast.iter_child_nodes(n)


# Loaders of these are no DataLoader of PyTorch, whatever they are called.
STRANGERS = {"tensorflow", "tf", "mxnet", "paddle", "jax", "keras", "mindspore", "oneflow", "gluon", "dgl"}


def is_loader(target, m):
    func = target.call.func
    func = func.value if isinstance(func, ast.Subscript) else func
    return m.full(func).split(".")[0] not in STRANGERS


class Loader:
    """A call that makes a loader."""

    def __init__(self, m, target):
        self.m, self.target, self.call = m, target, target.call
        self.plain = target.name == "DataLoader"  # else a class of somebody's own, whose defaults are not known
        self.workers = self.setting("num_workers")

    def setting(self, name):
        """What a setting is: its value where that is written in the file, DataLoader's default where it is not given,
        else UNKNOWN.
        """
        found = given(self.m.source, self.target, name)
        if found.hidden is not None:
            return UNKNOWN
        if found.value is None:
            return DEFAULTS.get(name) if self.plain else UNKNOWN
        values = [literal(v) for v in self.m.values(found.value)]
        if not values or not all(written for written, _ in values) or any(v != values[0] for v in values):
            return UNKNOWN
        return values[0][1]

    def default(self, name):
        """The default of the parameter or option that a setting comes from, where that is written in the file; else
        UNKNOWN.
        """
        for value in self.m.values(self.given(name)):
            found = self.m.default(value)
            if found is not None and literal(found)[0]:
                return literal(found)[1]
        return UNKNOWN

    def given(self, name):
        """The value of a setting as the call names it, None where it does not."""
        return given(self.m.source, self.target, name).value

    def sure(self):
        """How sure it is that it has workers: by its number, or by the default of the option that gives it."""
        told, default = self.has_workers(), self.default("num_workers")
        by_default = isinstance(default, int) and default > 0
        return SURE if told else LIKELY if told is None and (by_default or self.counted()) else POSSIBLE

    def counted(self):
        """Whether the number is computed from that of CPUs, or by a call: then it is hardly 0."""
        return any(
            is_call(n, "cpu_count", "min", "max", "sched_getaffinity", "process_cpu_count")
            for v in self.m.values(self.given("num_workers"))
            for n in ast.walk(v)
        )

    def usual_workers(self):
        """The number of workers where it is written, else the default of the parameter or option that gives it, with
        words that say so; None where neither is.
        """
        if self.workers is UNKNOWN:
            number, unless = self.default("num_workers"), " unless another is given"
        else:
            number, unless = self.workers, ""
        return number if type(number) is int else None, unless

    def has_workers(self):
        """True, False, or None where the file does not say."""
        if self.workers is UNKNOWN:
            return None
        return isinstance(self.workers, int) and self.workers > 0

    def datasets(self):
        """What the dataset may be, as expressions."""
        return self.m.values(argument(self.call, 0, "dataset"))

    def serves(self, owner):
        """Whether it may hand out items of a class of this file."""
        return any(is_call(v, owner.name) for v in self.datasets())
