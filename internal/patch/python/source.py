"""The person's source as it is on disk: text, places in it, and a unified diff to a changed version."""

import ast
import difflib
import io
import os
import re
import stat
import tokenize
from bisect import bisect_right

MOST_BYTES = 4 << 20


class Refused(Exception):
    """Why there is no patch, for the person."""


def read(path, since):
    """The bytes of a file. since: when the job began, 0 where that is not known."""
    try:
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode):
            raise Refused("it is not a regular file")
        if about.st_size > MOST_BYTES:
            raise Refused("it is larger than %d MiB" % (MOST_BYTES >> 20))
        if since and about.st_mtime > since:
            raise Refused("it was changed after the job began, so the line the job named may be another one now")
        with open(path, "rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as e:
        raise Refused("it cannot be read: %s" % (e.strerror or type(e).__name__))
    except ValueError:
        raise Refused("it cannot be read: no file can have this name")


class Source:
    """The bytes of a file, parsed. Offsets count characters of text, lines count from 1 as ast does."""

    def __init__(self, raw):
        self.raw = raw
        self.encoding, self.text = decode(self.raw)
        try:
            self.tree = ast.parse(self.text)
        except SyntaxError as e:
            raise Refused("Python %d.%d cannot parse it: %s in line %s" % (*version(), e.msg, e.lineno))
        except (ValueError, RecursionError, MemoryError) as e:
            raise Refused("Python %d.%d cannot parse it: %s" % (*version(), e or type(e).__name__))
        self.lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", self.text)  # as the compiler counts them
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def offset(self, lineno, column):
        """Where a place of ast is, which counts columns in bytes of UTF-8."""
        if lineno > len(self.lines):
            return len(self.text)
        line = self.lines[lineno - 1]
        if not line.isascii():
            column = len(line.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "surrogatepass"))
        return self.starts[lineno - 1] + column

    def span(self, node):
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def code(self, node, most=80):
        """A node as it is written, on one line."""
        start, end = self.span(node)
        written = " ".join(self.text[start:end].split())
        return written if len(written) <= most else written[: most - 1] + "\u2026"

    def line_of(self, offset):
        """Number of the line an offset is in, its first offset, and its text with the line's end."""
        at = max(0, bisect_right(self.starts, offset, 0, len(self.lines)) - 1)
        return at + 1, self.starts[at], self.lines[at] if self.lines else ""

    def inside(self, node, kinds):
        """The nodes of some kinds around a node, the nearest first."""
        found = []
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, kinds):
                found.append(node)
        return found

    def encode(self, text):
        return text.encode(self.encoding)


def version():
    import sys

    return sys.version_info[:2]


def decode(raw):
    """The encoding a source declares and its text; what would not come back the same is refused."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
        same = text.encode(encoding) == raw
    except (SyntaxError, LookupError, UnicodeError) as e:
        raise Refused("its text cannot be decoded: %s" % e)
    if not same:
        raise Refused("its encoding, %s, would not come back as it was" % encoding)
    return encoding, text


def unified(name, old, new):
    """A unified diff of bytes, as patch -p1 takes it, for which a line ends at a line feed and nowhere else."""
    a, b = list(io.BytesIO(old)), list(io.BytesIO(new))
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    first = max(0, head - 3)  # the same lines far away need no comparison
    a, b = a[first : len(a) - max(0, tail - 3)], b[first : len(b) - max(0, tail - 3)]
    out = [b"--- " + quoted("a/" + name) + b"\n", b"+++ " + quoted("b/" + name) + b"\n"]
    for group in difflib.SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(3):
        (_, a0, _, b0, _), (_, _, a1, _, b1) = group[0], group[-1]
        out.append(b"@@ -%s +%s @@\n" % (extent(first + a0, a1 - a0), extent(first + b0, b1 - b0)))
        for tag, i0, i1, j0, j1 in group:
            if tag == "equal":
                out += marked(b" ", a[i0:i1])
                continue
            out += marked(b"-", a[i0:i1]) + marked(b"+", b[j0:j1])
    return b"".join(out)


def extent(start, count):
    if count == 1:
        return b"%d" % (start + 1)
    return b"%d,%d" % (start + 1 if count else start, count)


def marked(mark, lines):
    return [
        mark + line if line.endswith(b"\n") else mark + line + b"\n\\ No newline at end of file\n" for line in lines
    ]


def quoted(name):
    """A name as patch reads it back: in C's quotes where it holds what would end or change it, with a tab behind where
    it holds a space."""
    raw = os.fsencode(name)
    if any(c < 0x20 or c == 0x7F or c in b'"\\' for c in raw) or any("\udc80" <= c <= "\udcff" for c in name):
        return (
            b'"'
            + b"".join(
                b"\\%03o" % c if c < 0x20 or c >= 0x7F else b"\\" + bytes([c]) if c in b'"\\' else bytes([c])
                for c in raw
            )
            + b'"'
        )
    return raw + b"\t" if b" " in raw else raw
