"""Times the libraries of this interpreter on the files of a dataset: how it answers.

The request is JSON on standard input. Answers are lines of JSON on what was standard output when the process began,
each behind PREFIX; what libraries print goes to standard error. Each round of each subject (one library doing one
thing) is a line of its own, so that nothing is lost when a library crashes or hangs. Only the listed files are read and
no code of the dataset's is run.

The files of this folder are sent as one script, this one first and main.py last: what one of them defines the others
use without an import.
"""

import importlib
import importlib.util
import json

NOTES = []  # what is said once at the end


class Refused(Exception):
    """An item that is not read although it could be."""


def answer(out, value):
    out.write("\n" + PREFIX + json.dumps(value) + "\n")
    out.flush()


def has(name):
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:
        return False


def library(name):
    """The module, or None where it is not there or cannot be imported."""
    try:
        if importlib.util.find_spec(name) is None:
            return None
        return importlib.import_module(name)
    except Exception as e:
        NOTES.append("%s cannot be imported: %s" % (name, first_line(e)))
        return None


def first_line(e):
    lines = str(e).strip().splitlines()
    if lines and isinstance(e, Refused):
        return lines[0]
    return "%s: %s" % (type(e).__name__, lines[0][:200]) if lines else type(e).__name__
