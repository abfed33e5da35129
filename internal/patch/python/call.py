"""Which call makes the loader, and what it says about a setting."""

import ast

# The parameters of torch.utils.data.DataLoader that may be passed by position, since 1.2 and until today.
BY_POSITION = [
    "dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory",
    "drop_last", "timeout", "worker_init_fn", "multiprocessing_context", "generator",
]

# What a setting is where a call does not name it. prefetch_factor is 2 for any number of workers above 0.
DEFAULTS = {
    "num_workers": 0,
    "pin_memory": False,
    "persistent_workers": False,
    "in_order": True,
    "prefetch_factor": 2,
    "multiprocessing_context": None,
}

# A call that names one of these takes settings of a loader, whatever it is called.
TELLING = {
    "num_workers", "prefetch_factor", "persistent_workers", "pin_memory", "multiprocessing_context", "in_order",
    "worker_init_fn", "collate_fn", "batch_sampler",
}


class Framework:
    """What a call is known to take for a loader: its names for the settings (None: DataLoader's own), what each is
    where the call does not name it, and the parameters that may be passed by position."""

    def __init__(self, names, defaults, positions=()):
        self.names, self.defaults, self.positions = names, defaults, positions


TORCH = Framework(None, DEFAULTS, BY_POSITION)
# TrainingArguments of Hugging Face's transformers, whose Trainer makes the loaders.
TRAINING_ARGUMENTS = Framework(
    {name: "dataloader_" + name for name in ("num_workers", "prefetch_factor", "persistent_workers", "pin_memory")},
    dict(DEFAULTS, pin_memory=True),
)
TRAINS = {"train", "evaluate", "predict"}  # the methods of Trainer that make them
# A model of ultralytics, whose train() makes them, and the function that does.
ULTRALYTICS = Framework({"num_workers": "workers"}, {"num_workers": 8})
ULTRALYTICS_LOADER = Framework(
    {"num_workers": "workers"}, {}, ["dataset", "batch", "workers", "shuffle", "rank", "drop_last", "pin_memory"]
)


class Target:
    """The call that makes the loader, or that takes its settings for a framework.

    first is the position of the dataset in it, None where the order of its parameters is not known. adds says whether a
    keyword that the call does not name may be added.
    """

    def __init__(self, call, name, first, adds, framework=TORCH):
        self.call, self.name, self.first, self.adds = call, name, first, adds
        self.names, self.defaults, self.positions = framework.names, framework.defaults, framework.positions

    def keyword(self, name):
        """What a setting is called in the call; None where it takes none such."""
        return name if self.names is None else self.names.get(name)


class Names:
    """What names of the file stand for, as far as they make loaders."""

    def __init__(self, tree):
        self.imported, self.modules, self.classes, self.functions, self.same = {}, {}, {}, set(), {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self.imported[alias.asname or alias.name] = (node.module or "", alias.name)
            elif isinstance(node, ast.Import):
                self.modules.update({alias.asname: alias.name for alias in node.names if alias.asname})
            elif isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions.add(node.name)
            elif (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
                and isinstance(node.value, (ast.Name, ast.Attribute))
            ):
                self.same[node.targets[0].id] = node.value

    def loader(self, func, depth=0):
        """(name, module, class definition) of what a call makes a loader with, None where it does not look like one."""
        if isinstance(func, ast.Subscript):  # DataLoader[int](...)
            func = func.value
        if isinstance(func, ast.Attribute):
            return (func.attr, self.module(dotted(func.value)), None) if func.attr.endswith("DataLoader") else None
        if not isinstance(func, ast.Name) or depth > 8:
            return None
        name = func.id
        if name in self.classes:
            return (name, "", self.classes[name]) if self.descends(self.classes[name], depth) else None
        if name in self.imported:
            module, original = self.imported[name]
            return (original, module, None) if original.endswith("DataLoader") else None
        if name in self.same:
            return self.loader(self.same[name], depth + 1)
        return (name, "", None) if name.endswith("DataLoader") and name not in self.functions else None

    def module(self, name):
        """The full name of a module that the file calls by another one."""
        head, dot, rest = name.partition(".")
        return self.modules.get(head, ".".join(self.imported.get(head, (head,)))) + dot + rest

    def descends(self, definition, depth):
        return depth <= 8 and any(self.loader(base, depth + 1) for base in definition.bases)

    def target(self, source, call):
        """What kind of call this is; None where it makes no loader."""
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr == "__init__":  # in a class made from DataLoader
            around = source.inside(call, ast.ClassDef)
            if around and self.descends(around[0], 0):
                above = is_call(func.value, "super") and isinstance(func.value.func, ast.Name)
                if above or self.loader(func.value):
                    return Target(call, source.code(func), 0 if above else 1, True)
        made = self.loader(func)
        if not made:
            return None
        name, module, definition = made
        if definition is not None:
            return Target(call, name, None, passes_on(definition))
        plain = name == "DataLoader" and (not module or module.split(".")[0] == "torch")
        return Target(call, name, 0 if plain else None, True)


def training_arguments(source, names, calls):
    """The TrainingArguments that a Trainer's settings are from: the only ones in the file, else None. calls are those
    that stand on the job's line."""
    if not any(isinstance(c.func, ast.Attribute) and c.func.attr in TRAINS for c in calls):
        return None
    found = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            module, _, name = names.module(dotted(node.func)).rpartition(".")
            if module.split(".")[0] == "transformers" and name in ("TrainingArguments", "Seq2SeqTrainingArguments"):
                found.append(node)
    return Target(found[0], last(found[0].func), None, True, TRAINING_ARGUMENTS) if len(found) == 1 else None


def ultralytics(source, names, calls):
    """The call among some that hands ultralytics its number of workers: train() of a model of its, or
    build_dataloader()."""

    def called(node):
        root, _, name = names.module(dotted(node.func)).partition(".") if isinstance(node, ast.Call) else ("", "", "")
        return name.rpartition(".")[2] if root == "ultralytics" else ""

    for call in calls:
        if called(call) == "build_dataloader":
            return Target(call, "build_dataloader", 0, True, ULTRALYTICS_LOADER)
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "train":
            continue
        model = call.func.value
        made = (
            [model]
            if not isinstance(model, ast.Name)
            else [
                n.value for n in ast.walk(source.tree) if isinstance(n, ast.Assign) and stores(n.targets[0], model.id)
            ]
        )
        if made and all(called(each) for each in made):
            return Target(call, source.code(call.func), None, True, ULTRALYTICS)
    return None


def last(node):
    """The last part of a dotted name, "" of what is none."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_call(node, *names):
    """Whether a node calls something of one of these names, whatever that is taken out of."""
    return isinstance(node, ast.Call) and last(node.func) in names


def string(node):
    """The text that a node is; "" for what is none."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def words(call):
    """The texts that a call is given by position."""
    return [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]


def dest(flag):
    """What argparse calls the value of a flag."""
    return flag.lstrip("-").replace("-", "_")


def passes_on(definition):
    """Whether a class takes any keyword: it has no __init__ of its own, or one with **."""
    for node in definition.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            return node.args.kwarg is not None
    return True


def dotted(node):
    if isinstance(node, ast.Attribute):
        return dotted(node.value) + "." + node.attr
    return node.id if isinstance(node, ast.Name) else ""


def find(source, line):
    """The call of the loader that stands on a line."""
    names = Names(source.tree)
    on = [n for n in ast.walk(source.tree) if isinstance(n, ast.Call) and n.lineno <= line <= n.end_lineno]
    if not on:
        raise Refused("line %d holds no call" % line)
    targets = [t for t in (names.target(source, c) for c in on) if t]
    framework = None if targets else training_arguments(source, names, on) or ultralytics(source, names, on)
    if framework:
        return framework
    if not targets:
        targets = [Target(c, source.code(c.func), None, False) for c in on if any(k.arg in TELLING for k in c.keywords)]
    if not targets:
        raise Refused(
            "no call on line %d is known to make a DataLoader: %s(\u2026)" % (line, source.code(on[-1].func, 40))
        )
    inner = [t for t in targets if not any(t.call in source.inside(other.call, ast.Call) for other in targets)]
    if len(inner) > 1:
        inner = [t for t in inner if t.call.lineno == line] or inner
    if len(inner) > 1:
        raise Refused("line %d holds %d calls that make a loader, and the job did not say which" % (line, len(inner)))
    return inner[0]


class Given:
    """What a call says about a setting: a value, nothing, or something that cannot be seen through (hidden)."""

    def __init__(self, value=None, hidden=None, why=""):
        self.value, self.hidden, self.why = value, hidden, why


def given(source, target, setting):
    call, name = target.call, target.keyword(setting)
    if name is None:
        return Given(hidden=call, why="%s has no such setting" % target.name)
    for keyword in call.keywords:
        if keyword.arg == name:
            return Given(keyword.value)
    packed = [keyword.value for keyword in call.keywords if keyword.arg is None]  # **
    for pack in packed:
        for key, value in zip(pack.keys, pack.values) if spelled(pack) else ():
            if key.value == name:
                return Given(value)
    if name in target.positions:
        star = next((i for i, a in enumerate(call.args) if isinstance(a, ast.Starred)), len(call.args))
        at = target.positions.index(name) + (target.first or 0)
        if star < len(call.args) and at >= star:
            return Given(hidden=call.args[star])
        if target.first is not None and at < len(call.args):
            return Given(call.args[at])
        if target.first is None and len(call.args) > 2:
            return Given(
                hidden=call, why="%s takes arguments by position, and their order is not known here" % target.name
            )
    for pack in packed:
        if not spelled(pack):
            return Given(hidden=pack)
    if not target.adds:
        return Given(hidden=call, why="%s(\u2026) does not name it and may not take it" % target.name)
    return Given()


def spelled(node):
    """Whether a value is a dict whose keys are written out."""
    return isinstance(node, ast.Dict) and all(isinstance(k, ast.Constant) for k in node.keys)


def literal(node):
    """Whether a value is written out, and the value."""
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, (bool, int, float, str))):
        return True, node.value
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, (ast.USub, ast.UAdd))
        and isinstance(node.operand, ast.Constant)
        and type(node.operand.value) in (int, float)
    ):
        return True, -node.operand.value if isinstance(node.op, ast.USub) else node.operand.value
    return False, None
