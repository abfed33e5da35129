"""Reads which files to judge from standard input, and answers with one line of JSON for each, in the same order."""

import base64
import json
import os
import re
import sys

IGNORE = re.compile(r"#\s*pipetune:\s*ignore(?:\[([^\]]*)\])?", re.I)


def ignored(source, finding, name):
    """Whether a comment on the line where a finding begins or ends says to leave it out."""
    for line in {finding.node.lineno, finding.node.end_lineno}:
        told = IGNORE.search(source.lines[line - 1]) if line <= len(source.lines) else None
        if told and (
            told.group(1) is None or any(w in (name, name.split("/")[1]) for w in re.split(r"[\s,]+", told.group(1)))
        ):
            return True
    return False


def judged(source, request):
    m = Module(source)
    m.datasets, m.steps = datasets(m), steps(m)
    found = []
    for name in request["rules"]:
        for f in RULES[name](m):
            if not ignored(source, f, name):
                found.append((name, f))
    return sorted(found, key=lambda pair: (pair[1].node.lineno, pair[1].node.col_offset, pair[0]))


def columns(source, node):
    """First and last column of a node, counted in characters from 1."""
    start, end = source.span(node)
    return start - source.starts[node.lineno - 1] + 1, end - source.starts[node.end_lineno - 1] + 1


def told(source, name, finding, starts):
    first, behind = columns(source, finding.node)
    line, end, cell = finding.node.lineno, finding.node.end_lineno, 0
    if starts is not None:
        cell, line = place(starts, finding.node.lineno)
        end = line + finding.node.end_lineno - finding.node.lineno
    return {
        "rule": name,
        "line": line,
        "column": first,
        "end_line": end,
        "end_column": behind,
        "cell": cell,
        "message": finding.message,
        "certainty": finding.certainty,
        "fixable": bool(finding.edits) and starts is None,
    }


def answer(path, request):
    raw = read(path, 0)
    starts = None
    if path.endswith(".ipynb"):
        raw, starts = cells(raw)
    source = Source(raw)
    found = judged(source, request)
    kept = [(n, f) for n, f in found if (f.certainty or request["certainty"][n]) in request["keep"]]
    out = {"findings": [told(source, n, f, starts) for n, f in kept]}
    if request["fix"] and starts is None:
        changed = mended(source, [f for _, f in kept])
        if changed != raw:
            shown = (
                os.path.relpath(path, request["folder"])
                if path.startswith(request["folder"] + "/")
                else path.lstrip("/")
            )
            out["diff"] = base64.b64encode(unified(shown, raw, changed)).decode("ascii")
            out["text"] = base64.b64encode(changed).decode("ascii")
    return out


def main(request):
    request["folder"] = os.fsdecode(base64.b64decode(request["folder"]))
    if sorted(RULES) != sorted(request["certainty"]):
        sys.exit("the catalogue and the rules differ: %s" % sorted(set(RULES) ^ set(request["certainty"])))
    print("ready")
    for name in request["files"]:
        path = os.fsdecode(base64.b64decode(name))
        try:
            out = answer(path, request)
        except Refused as e:
            out = {"refused": str(e)}
        except (RecursionError, MemoryError):
            out = {"refused": "it is nested too deeply"}
        sys.stdout.write(json.dumps(out) + "\n")
        sys.stdout.flush()


main(json.loads(sys.stdin.buffer.read()))
