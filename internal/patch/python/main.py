"""Reads what is asked from standard input and answers with one line of JSON."""

import ast
import base64
import json
import os
import sys

NEED_WORKERS = ("persistent_workers", "prefetch_factor", "multiprocessing_context")
MOST_DIFF = 256 << 10


class Change:
    """What becomes of the settings of one call."""

    def __init__(self, source, target, shown, wanted, workers):
        self.source, self.target, self.shown, self.wanted, self.workers = source, target, shown, wanted, workers
        self.layout = Layout(source, target.call)
        self.values, self.edits, self.added, self.removed, self.told = {}, [], [], set(), []

    def make(self):
        for name, to in self.order():
            if self.target.keyword(name) not in self.removed:
                self.setting(name, to)
        if self.added:
            self.edits += addition(self.source, self.layout, ["%s=%s" % pair for pair in self.added])
        text = apply(self.source, self.edits)
        if text != self.source.text:
            verify(self.source, text, Wanted(self.values, self.target.call, self.added, self.removed))
        return text

    def order(self):
        """num_workers first, since others depend on it."""
        return sorted(self.wanted.items(), key=lambda pair: pair[0] != "num_workers")

    def setting(self, name, to):
        value = ast.literal_eval(to)
        found = given(self.source, self.target, name)
        if name in NEED_WORKERS and value and self.count() == 0:
            return self.tell(name, None, to, 0, "elsewhere", "not written: it needs num_workers above 0")
        if name == "num_workers" and value == 0 and not self.without_workers(to):
            return
        if found.hidden is not None:
            told = found.why or Origins(self.source, self.shown, name, to).tell(found.hidden)
            return self.tell(name, None, to, found.hidden.lineno, "elsewhere", told)
        if found.value is None:
            if name in self.target.defaults and same(self.target.defaults[name], value):
                return self.tell(name, None, to, 0, "already")
            self.added.append((self.target.keyword(name), to))
            return self.tell(name, None, to, self.target.call.end_lineno, "added")
        self.replace(name, to, value, found.value)

    def replace(self, name, to, value, node):
        written, now = literal(node)
        if not written:
            behind = constant(self.source, node)
            if behind is None:
                told = Origins(self.source, self.shown, name, to).tell(node)
                return self.tell(name, self.source.code(node), to, node.lineno, "elsewhere", told)
            node, now = behind, literal(behind)[1]
        code = self.source.code(node)
        if same(now, value):
            return self.tell(name, code, to, node.lineno, "already")
        start, end = self.source.span(node)
        if node.lineno != node.end_lineno or not same(ast.literal_eval(self.source.text[start:end]), now):
            told = "written over several lines (line %d)" % node.lineno
            return self.tell(name, code, to, node.lineno, "elsewhere", told)
        self.edits.append((start, end, to))
        self.values[id(node)] = to
        self.tell(name, code, to, node.lineno, "replaced")

    def count(self):
        """num_workers after the change: as wanted and written, else as it stands, else as the job had it. None is
        unknown."""
        for told in self.told:
            if told["setting"] == "num_workers" and told["how"] != "elsewhere":
                return ast.literal_eval(told["to"])
        found = given(self.source, self.target, "num_workers")
        if found.value is None and found.hidden is None:
            return DEFAULTS["num_workers"] if self.target.first is not None else self.workers
        written, now = literal(found.value) if found.value is not None else (False, None)
        return now if written else self.workers

    def without_workers(self, to):
        """Takes away what is refused without workers; False where that cannot be done, so num_workers must stay."""
        keywords = self.target.call.keywords
        going = []
        for name in NEED_WORKERS:
            node = given(self.source, self.target, name).value
            written, now = literal(node) if node is not None else (True, None)
            index = next((i for i, k in enumerate(keywords) if k.arg == self.target.keyword(name)), None)
            if not written or now and index is None:
                told = "not written: %s=%s needs workers" % (name, self.source.code(node))
                self.tell("num_workers", None, to, node.lineno, "elsewhere", told)
                return False
            if now:
                going.append((name, keywords[index].value))
        for name, node in going:
            start = self.source.span(node)[0]
            at = next(i for i, (a, b) in enumerate(self.layout.arguments) if a <= start < b)
            self.edits.append(removal(self.source, self.layout, at))
            self.removed.add(self.target.keyword(name))
            self.tell(name, self.source.code(node), "", node.lineno, "removed")
        return True

    def tell(self, name, now, to, line, how, origin=""):
        if self.target.names and self.target.keyword(name):  # as the framework calls it
            origin = "%s of %s%s" % (self.target.keyword(name), self.target.name, origin and ": " + origin)
        self.told.append({"setting": name, "from": now, "to": to, "line": line, "how": how, "origin": origin})


def same(a, b):
    return type(a) is type(b) and a == b


def shown_as(path, folder):
    """The file's name for the diff: below the folder, else from the root."""
    real, base = os.path.realpath(path), os.path.realpath(folder) if folder else ""
    below = os.path.relpath(real, base) if base else os.pardir
    return real if below == os.pardir or below.startswith(os.pardir + os.sep) else below


def answer(request):
    path = os.fsdecode(base64.b64decode(request["file"]))
    folder = os.fsdecode(base64.b64decode(request["folder"]))
    source = Source(read(path, request["since"]))
    shown = shown_as(path, folder)
    wanted = {s["name"]: s["to"] for s in request["settings"]}
    change = Change(source, find(source, request["line"]), shown, wanted, request["workers"])
    text = change.make()
    told = {"file": os.fsencode(shown), "settings": change.told, "diff": b""}
    if text != source.text:
        try:
            told["diff"] = unified(shown.lstrip("/"), source.raw, source.encode(text))
        except UnicodeError:
            raise Refused("the value cannot be written in its encoding, %s" % source.encoding)
        if len(told["diff"]) > MOST_DIFF:
            raise Refused("the lines around the change are too long")
    return told


def main(request):
    try:
        told = answer(request)
    except Refused as e:
        told = {"refused": str(e)}
    except (RecursionError, MemoryError):
        told = {"refused": "it is nested too deeply"}
    for name in ("file", "diff"):
        told[name] = base64.b64encode(told.get(name, b"")).decode("ascii")
    sys.stdout.write(json.dumps(told))


main(json.loads(sys.stdin.buffer.read()))
