"""Changes of a file for findings that know one, made and checked by patch's edit.py."""

import ast


def mended(source, findings):
    """The bytes of a file with the edits of some findings made, one call after the other from the end: places before
    it stay as they are.
    """
    wanted = {}
    for finding in findings:
        for call, name, value in finding.edits:
            wanted.setdefault((call.lineno, call.col_offset, call.end_lineno, call.end_col_offset), {})[name] = value
    for place in sorted(wanted, reverse=True):
        source = one(source, place, wanted[place])
    return source.encode(source.text)


def one(source, place, settings):
    call = at(source, place)
    if call is None:
        return source
    values, edits, added = {}, [], []
    try:
        for name, to in settings.items():
            node = keyword(call, name)
            if node is None:
                added.append((name, to))
            elif literal(node)[0] and node.lineno == node.end_lineno:
                edits.append(source.span(node) + (to,))
                values[id(node)] = to
        if added:
            edits += addition(source, Layout(source, call), ["%s=%s" % pair for pair in added])
        text = apply(source, edits)
        verify(source, text, Wanted(values, call, added, set()))
        return Source(source.encode(text))
    except (Refused, UnicodeError):
        return source  # the finding stays; nothing is changed for it


def at(source, place):
    """The call at a place. Its end may have moved, where a call within it was changed."""
    begin = [n for n in ast.walk(source.tree) if isinstance(n, ast.Call) and (n.lineno, n.col_offset) == place[:2]]
    same = [n for n in begin if (n.end_lineno, n.end_col_offset) == place[2:]]
    return same[0] if same else begin[0] if len(begin) == 1 else None
