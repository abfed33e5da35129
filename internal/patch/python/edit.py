"""Changes to a call in the call's own style. Each is a piece of text for a span; what comes out is parsed and compared
before it is shown."""

import ast
import io
import tokenize

# Tokens that are no part of an argument.
BETWEEN = {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
# A line that grew is broken where the file's own lines end, within these.
SHORTEST, LONGEST = 79, 120


class Layout:
    """The arguments of a call as they are written: offsets of each with its parentheses, of the commas, and of the
    closing parenthesis."""

    def __init__(self, source, call):
        self.source = source
        begin, end = source.span(call)
        at = source.span(call.func)[1]
        while at < end and source.text[at] != "(":  # "(DataLoader)(data)", and what may stand between the two
            if source.text[at] == "#":
                at = source.starts[source.line_of(at)[0]]
            else:
                at += 1
        if at >= end or source.text[end - 1] != ")":
            raise Refused("the call in line %d is written in a way that is not understood" % call.lineno)
        self.open, self.close = at, end - 1
        self.arguments, self.commas = [], []
        # a lambda has commas of its own
        values = [source.span(node) for node in call.args + [k.value for k in call.keywords]]
        depth, current = 0, None
        for kind, start, stop, text in self.tokens(at, end):
            if kind in BETWEEN:
                continue
            if kind == tokenize.OP and text in ")]}":
                depth -= 1
            if depth == 1 and kind == tokenize.OP and text == "," and not any(a <= start < b for a, b in values):
                self.arguments.append(current)
                self.commas.append(start)
                current = None
            elif depth >= 1:
                current = (current[0] if current else start, stop)
            if kind == tokenize.OP and text in "([{":
                depth += 1
        if current:
            self.arguments.append(current)
        nodes = len(call.args) + len(call.keywords)
        if len(self.arguments) != nodes or None in self.arguments:
            raise Refused("the call in line %d is written in a way that is not understood" % call.lineno)

    def tokens(self, start, end):
        piece = self.source.text[start:end]
        lines = list(io.StringIO(piece, newline=""))
        begins = [start]
        for line in lines:
            begins.append(begins[-1] + len(line))
        try:
            for token in tokenize.generate_tokens(iter(lines + [""]).__next__):
                (row0, column0), (row1, column1) = token.start, token.end
                if row0 <= len(lines):
                    yield (
                        token.type,
                        begins[row0 - 1] + column0,
                        begins[min(row1, len(lines)) - 1] + column1,
                        token.string,
                    )
        except (tokenize.TokenError, SyntaxError, StopIteration):
            raise Refused("the call cannot be taken apart")

    def trailing(self):
        return len(self.commas) == len(self.arguments)


def break_width(source):
    return min(LONGEST, max([SHORTEST] + [len(line.rstrip("\r\n")) for line in source.lines]))


def addition(source, layout, keywords):
    """Edits that add keywords at a call's end."""
    if not layout.arguments:
        return [(layout.close, layout.close, ", ".join(keywords))]
    start, stop = layout.arguments[-1]
    behind = layout.commas[-1] + 1 if layout.trailing() else stop
    number, begin, line = source.line_of(start)
    end_number, end_begin, end_line = source.line_of(behind - 1)
    indent = source.text[begin:start]
    if indent.strip():  # not the first of its line: below the line's first argument, or the call's
        first = next(a for a in layout.arguments if source.line_of(a[0])[0] == number)
        lead = source.text[begin : first[0]]
        indent = (
            line[: len(line) - len(line.lstrip(" \t"))]
            if lead.strip() == ""
            else lead[: len(lead) - len(lead.lstrip(" \t"))] + " " * len(lead.lstrip(" \t"))
        )
    ending = end_line[len(end_line.rstrip("\r\n")) :] or "\n"
    close_number, close_begin, _ = source.line_of(layout.close)
    if close_number > end_number and not source.text[close_begin : layout.close].strip():
        below = end_begin + len(end_line)
        comma = [] if layout.trailing() else [(stop, stop, ",")]
        lines = [
            indent + k + ("," if i + 1 < len(keywords) or layout.trailing() else "") + ending
            for i, k in enumerate(keywords)
        ]
        return comma + [(below, below, "".join(lines))]
    text, width = "", len(source.text[end_begin:behind])
    alone = number > source.line_of(layout.open)[0] and not source.text[begin:start].strip()  # one argument a line
    rest = len(end_line.rstrip("\r\n")) - (behind - end_begin)
    separator = "" if layout.trailing() else ","
    for k in keywords:
        if (
            alone
            and len(layout.arguments) > 1
            or number > source.line_of(layout.open)[0]
            and width + len(k) + 2 + rest > break_width(source)
        ):
            text += separator + ending + indent + k
            width = len(indent) + len(k)
        else:
            text += separator + " " + k
            width += len(separator) + 1 + len(k)
        separator = ","
    return [(behind, behind, text + ("," if layout.trailing() else ""))]


def removal(source, layout, index):
    """The edit that takes an argument away, with its comma and, where nothing else stands there, its line."""
    start, stop = layout.arguments[index]
    if index < len(layout.commas):
        stop = layout.commas[index] + 1
        _, begin, line = source.line_of(start)
        _, end_begin, end_line = source.line_of(stop - 1)
        if not source.text[begin:start].strip() and not source.text[stop : end_begin + len(end_line)].strip():
            return begin, end_begin + len(end_line), ""
        while source.text[stop] in " \t":
            stop += 1
        return start, stop, ""
    if index and not source.text[layout.commas[index - 1] + 1 : start].strip():
        return layout.commas[index - 1], stop, ""
    return start, stop, ""


def apply(source, edits):
    text = source.text
    for start, end, piece in sorted(edits, reverse=True):
        text = text[:start] + piece + text[end:]
    return text


class Wanted(ast.NodeTransformer):
    """The tree as it is to be after the change."""

    def __init__(self, values, call, added, removed):
        self.values, self.call, self.added, self.removed = values, call, added, removed

    def visit(self, node):
        if id(node) in self.values:
            return expression(self.values[id(node)])
        if node is self.call:
            node.keywords = [k for k in node.keywords if k.arg is None or k.arg not in self.removed]
            node.keywords += [ast.keyword(arg=name, value=expression(to)) for name, to in self.added]
        return self.generic_visit(node)


def expression(text):
    return ast.parse(text, mode="eval").body


def verify(source, text, wanted):
    """Refuses a change that does not parse, or that says anything but what it was to say."""
    try:
        after = ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        raise Refused("the changed file would not parse")
    if after != ast.dump(wanted.visit(source.tree)):
        raise Refused("the change would say more than was meant")
