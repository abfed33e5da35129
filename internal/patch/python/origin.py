"""Where a value comes from that does not stand in the call as a literal."""

import ast

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DEEPEST = 3  # assignments that are followed


class Origins:
    """Tells origins in one file. shown is how the file is named to the person, to is the value that is wanted: None
    where what is told of is only a part of what the value is computed from.
    """

    def __init__(self, source, shown, setting, to):
        self.source, self.shown, self.setting, self.to = source, shown, setting, to

    def at(self, node):
        return "(%s:%d)" % (self.shown.rsplit("/", 1)[-1], node.lineno)

    def tell(self, node, depth=0):
        """One line about a value: how it is written, where that comes from, and how to change it from outside where
        that can be said."""
        if is_call(node, "int", "bool", "str") and len(node.args) == 1:
            return self.tell(node.args[0], depth)
        code = self.source.code(node)
        told = self.environment(node)
        if told:
            return "%s: %s" % (code, told)
        if isinstance(node, ast.Starred):
            return "*%s: %s" % (
                self.source.code(node.value),
                self.name(node.value, depth) or "passed by position " + self.at(node),
            )
        if isinstance(node, ast.Name):
            return "%s: %s" % (code, self.name(node, depth) or "not assigned in this file")
        if isinstance(node, ast.Attribute):
            return "%s: %s" % (code, self.attribute(node, depth))
        if isinstance(node, ast.Subscript):
            return "%s: %s" % (code, self.subscript(node, depth))
        if is_call(node, "get") and isinstance(node.func, ast.Attribute) and node.args:
            return "%s: %s" % (code, self.base(node.func.value, depth))
        written, _ = literal(node)
        if written:
            return "%s %s" % (code, self.at(node))
        part = self.part(node) if depth < DEEPEST else None
        if part is None:
            return "%s: an expression %s" % (code, self.at(node))
        alone = self if isinstance(node, ast.IfExp) else Origins(self.source, self.shown, self.setting, None)
        return "%s: an expression %s of %s" % (code, self.at(node), alone.tell(part, depth + 1))

    def part(self, node):
        """The first value in an expression that is not a function and not of an imported module; None where there is
        none."""
        skipped = {id(n) for c in ast.walk(node) if isinstance(c, ast.Call) for n in ast.walk(c.func)}
        for n in ast.walk(node.body if isinstance(node, ast.IfExp) else node):
            if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript)) and id(n) not in skipped and n is not node:
                return n
        return None

    def value(self, how, node, at, depth):
        """A value behind another, with the place where it is handed on: "assigned 1 (train.py:3)"."""
        if (
            not literal(node)[0]
            and depth < DEEPEST
            and (isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) or self.environment(node))
        ):
            return "%s %s from %s" % (how, self.at(at), self.tell(node, depth + 1))
        return "%s %s %s" % (how, self.source.code(node), self.at(at))

    def name(self, node, depth):
        if not isinstance(node, ast.Name):
            return ""
        for around in self.source.inside(node, COMPREHENSIONS):
            for generator in around.generators:
                if stores(generator.target, node.id):
                    return "goes over %s %s" % (self.source.code(generator.iter), self.at(around))
        for function in self.source.inside(node, FUNCTIONS):
            assigned = self.assigned(node, scope(function))
            if assigned:
                return self.assignment(assigned, depth)
            parameter = self.parameter(function, node.id, depth)
            if parameter:
                return parameter
        assigned = self.assigned(node, scope(self.source.tree))
        return self.assignment(assigned, depth) if assigned else ""

    def assigned(self, node, statements):
        """What binds a name last before its use, else the last that does."""
        found = [s for s in statements if binds(s, node.id)]
        before = [s for s in found if (s.lineno, s.col_offset) < (node.lineno, node.col_offset)]
        return (before or found)[-1] if found else None

    def assignment(self, node, depth):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            simple = isinstance(node.targets[0], ast.Name) if isinstance(node, ast.Assign) else True
            return (
                self.value("assigned", node.value, node, depth)
                if simple
                else "one of %s %s" % (self.source.code(node.value), self.at(node))
            )
        if isinstance(node, ast.AugAssign):
            return "changed by %s %s" % (self.source.code(node), self.at(node))
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = getattr(node, "module", None)
            return "imported%s %s" % (" from " + module if module else "", self.at(node))
        if isinstance(node, (ast.For, ast.AsyncFor)):
            return "goes over %s %s" % (self.source.code(node.iter), self.at(node))
        return "bound %s" % self.at(node)

    def parameter(self, function, name, depth):
        a = function.args
        plain = getattr(a, "posonlyargs", []) + a.args
        defaults = dict(zip([p.arg for p in plain][len(plain) - len(a.defaults) :], a.defaults))
        defaults.update({p.arg: d for p, d in zip(a.kwonlyargs, a.kw_defaults) if d is not None})
        called = getattr(function, "name", "a lambda")
        if a.kwarg and a.kwarg.arg == name or a.vararg and a.vararg.arg == name:
            return "what %s is given beyond its named parameters %s" % (called, self.at(function)) + self.called(
                function, None, depth
            )
        if name not in [p.arg for p in plain + a.kwonlyargs]:
            return ""
        option = self.option(function, name, defaults.get(name))
        if option:
            return option
        told = "parameter of %s" % called
        if name in defaults:
            told += ", default " + self.source.code(defaults[name])
        return "%s %s" % (told, self.at(function)) + self.called(function, name, depth)

    def called(self, function, name, depth):
        """What the only call of a function in this file gives for a parameter."""
        title = getattr(function, "name", None)
        if title == "__init__":
            title = next((c.name for c in self.source.inside(function, ast.ClassDef)), None)
        calls = [n for n in ast.walk(self.source.tree) if is_call(n, title) and isinstance(n.func, ast.Name)]
        if len(calls) != 1:
            return ""
        call = calls[0]
        wanted = self.setting if name is None else name
        for keyword in call.keywords:
            if keyword.arg == wanted:
                return ", given by the only call: " + self.value(wanted + " is", keyword.value, call, depth)
        names = [p.arg for p in getattr(function.args, "posonlyargs", []) + function.args.args]
        if name in names and not any(isinstance(x, ast.Starred) for x in call.args):
            at = names.index(name) - (names[:1] == ["self"])
            if 0 <= at < len(call.args):
                return ", given by the only call: " + self.value(name + " is", call.args[at], call, depth)
        return ", not given by the only call " + self.at(call)

    def option(self, function, name, default):
        """A parameter that click or typer fills from the command line."""
        for decorator in getattr(function, "decorator_list", []):
            if is_call(decorator, "option", "argument"):
                flags = words(decorator)
                if name in flags or any(dest(f) == name for f in flags):
                    return self.flag(long(flags, name), keywords(decorator).get("default"), decorator)
        if is_call(default, "Option", "Argument"):
            flag = long(words(default), "--" + name.replace("_", "-"))
            return self.flag(flag, default.args[0] if default.args else None, default)
        return ""

    def flag(self, flag, default, node, action=""):
        told = flag if default is None else "%s, default %s" % (flag, self.source.code(default))
        told = "%s %s" % (told, self.at(node))
        if not flag.startswith("-") or self.to is None:
            return told
        if action.startswith("store_") and action != "store_const":
            return told + (
                "; start the job with %s" % flag
                if (action == "store_true") == (self.to == "True")
                else "; start the job without %s" % flag
            )
        return "%s; start the job with %s %s" % (told, flag, self.to.strip("\"'"))

    def attribute(self, node, depth):
        for call in ast.walk(self.source.tree):
            if not is_call(call, "add_argument") or last(node.value) in ("self", "cls"):
                continue
            flags, given = words(call), keywords(call)
            named = given.get("dest")
            flag = long(flags, flags[0] if flags else "")
            if node.attr == (named.value if isinstance(named, ast.Constant) else dest(flag)):
                return self.flag(flag, given.get("default"), call, string(given.get("action")))
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            for around in self.source.inside(node, ast.ClassDef)[:1]:
                sets = [
                    s
                    for s in ast.walk(around)
                    if isinstance(s, (ast.Assign, ast.AnnAssign))
                    and s.value is not None
                    and any(
                        isinstance(t, ast.Attribute) and t.attr == node.attr and last(t.value) == "self"
                        for t in targets(s)
                    )
                ]
                if sets:
                    return self.value("assigned", sets[-1].value, sets[-1], depth)
        fields = [
            f
            for c in ast.walk(self.source.tree)
            if isinstance(c, ast.ClassDef)
            for f in c.body
            if isinstance(f, (ast.Assign, ast.AnnAssign))
            and any(isinstance(t, ast.Name) and t.id == node.attr for t in targets(f))
        ]
        if len(fields) == 1:
            owner = self.source.parents[fields[0]].name
            return "field of %s%s %s" % (
                owner,
                ", default " + self.source.code(fields[0].value) if fields[0].value is not None else "",
                self.at(fields[0]),
            )
        return self.base(node.value, depth, node.attr)

    def base(self, node, depth, attr=None):
        """What is known of the thing a value is taken out of."""
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        if not isinstance(node, ast.Name):
            return "taken out of %s %s" % (self.source.code(node), self.at(node))
        if node.id == "self":
            return "set elsewhere, on self"
        told = self.name(node, depth)
        return "%s is %s" % (node.id, told) if told else "%s is not assigned in this file" % node.id

    def subscript(self, node, depth):
        key = node.slice.value if type(node.slice).__name__ == "Index" else node.slice  # Python 3.8
        if isinstance(node.value, ast.Name) and isinstance(key, ast.Constant):
            for s in ast.walk(self.source.tree):
                if isinstance(s, ast.Assign) and binds(s, node.value.id):
                    entry = entries(s.value).get(key.value)
                    if entry is not None:
                        return "%s %s" % (self.source.code(entry), self.at(entry))
        return self.base(node.value, depth)

    def environment(self, node):
        """A variable of the environment anywhere in an expression."""
        for n in ast.walk(node):
            name = default = None
            if isinstance(n, ast.Subscript) and last(n.value) == "environ":
                name = n.slice.value if type(n.slice).__name__ == "Index" else n.slice
            elif is_call(n, "getenv", "get") and n.args:
                if last(n.func) == "get" and last(getattr(n.func, "value", None)) != "environ":
                    continue
                name, default = n.args[0], n.args[1] if len(n.args) > 1 else None
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                told = "environment variable %s" % name.value
                if default is not None:
                    told += ", default " + self.source.code(default)
                cure = "; set %s=%s" % (name.value, self.to.strip("\"'")) if n is node and self.to is not None else ""
                return "%s %s%s" % (told, self.at(n), cure)
        return ""


def scope(function):
    """The nodes of a function or module that bind names in it, in the order they are written; those of functions within
    are left out."""
    found, todo = [], list(ast.iter_child_nodes(function)) if not isinstance(function, ast.Lambda) else [function.body]
    while todo:
        node = todo.pop()
        found.append(node)
        if not isinstance(node, FUNCTIONS + (ast.ClassDef,)):
            todo += ast.iter_child_nodes(node)
    return sorted((n for n in found if hasattr(n, "lineno")), key=lambda n: (n.lineno, n.col_offset))


def targets(node):
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def stores(node, name):
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))


def binds(node, name):
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.AsyncFor)):
        return any(
            isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
            for t in targets(node)
            for n in ast.walk(t)
        )
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return any((a.asname or a.name.split(".")[0]) == name for a in node.names)
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return any(i.optional_vars is not None and stores(i.optional_vars, name) for i in node.items)
    return isinstance(node, FUNCTIONS[:2] + (ast.ClassDef,)) and node.name == name


def long(flags, other):
    """The first long one of some flags, where there is none the other."""
    return next((f for f in flags if f.startswith("--")), other)


def keywords(call):
    return {k.arg: k.value for k in call.keywords if k.arg}


def entries(node):
    """The values of a dict that is written out, by their keys."""
    if isinstance(node, ast.Dict):
        return {k.value: v for k, v in zip(node.keys, node.values) if isinstance(k, ast.Constant)}
    if is_call(node, "dict"):
        return keywords(node)
    return {}


def constant(source, node):
    """The literal behind a name of the module that is assigned once and read once: changing it there changes this call
    and nothing else."""
    if not isinstance(node, ast.Name):
        return None
    uses = [n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == node.id]
    others = [
        n
        for n in ast.walk(source.tree)
        if not isinstance(n, ast.Name)
        and (
            binds(n, node.id)
            and not isinstance(n, (ast.Assign, ast.AnnAssign))
            or isinstance(n, ast.arg)
            and n.arg == node.id
            or isinstance(n, (ast.Global, ast.Nonlocal))
            and node.id in n.names
        )
    ]
    sets = [
        s
        for s in source.tree.body
        if isinstance(s, (ast.Assign, ast.AnnAssign))
        and len(targets(s)) == 1
        and isinstance(targets(s)[0], ast.Name)
        and targets(s)[0].id == node.id
        and s.value is not None
    ]
    return sets[0].value if len(uses) == 2 and len(sets) == 1 and not others and literal(sets[0].value)[0] else None
