"""Notebooks: the code of all cells as one file, and which cell a line of it is in."""

import json
import re

MAGIC = re.compile(r"^(\s*)([%!?].*|[\w.]+\?\??)$")
ASSIGNED = re.compile(r"^(\s*\w+\s*=\s*)[%!].*$")


def cells(raw):
    """(code of all cells, [(first line, cell number)]) of a notebook. Lines of magics become pass."""
    try:
        book = json.loads(raw.decode("utf-8"))
        listed = book["cells"] if isinstance(book, dict) else None
        if not isinstance(listed, list):
            raise ValueError("it has no cells")
        lines, starts = [], []
        for number, cell in enumerate(listed, 1):
            if cell.get("cell_type") != "code":
                continue
            text = cell.get("source", "")
            text = text if isinstance(text, str) else "".join(text)
            starts.append((len(lines) + 1, number))
            foreign = re.match(r"\s*%%(?!time|capture)", text)
            goes_on = False  # of a command of the shell that ends in a backslash
            for line in text.split("\n"):
                magic = MAGIC.match(line)
                if foreign or goes_on:
                    lines.append("")
                elif magic and not line.lstrip().startswith("#"):
                    lines.append(magic.group(1) + "pass")
                else:
                    lines.append(ASSIGNED.sub(r"\1None", line))
                goes_on = line.endswith("\\") and bool(goes_on or magic or ASSIGNED.match(line))
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as e:
        raise Refused("it is no notebook that can be read: %s" % e)
    return "\n".join(lines).encode("utf-8", "surrogatepass") + b"\n", starts


def place(starts, line):
    """The cell of a line and its line in there."""
    first, number = max((s for s in starts if s[0] <= line), default=(1, 0))
    return number, line - first + 1
