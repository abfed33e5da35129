"""A DataLoader's arguments as a job plants them, or as --set NAME=VALUE says instead.

    python3 pictures_job.py --set num_workers=4 --set persistent_workers=True

Values are written as Python has them; a word that is no literal ("fork") stands for itself. This is how a recommended
setting is tried on a job without touching its source.
"""

import ast

WITH_WORKERS_ONLY = ("prefetch_factor", "persistent_workers", "multiprocessing_context")  # PyTorch refuses them without


def chosen(args, **planted):
    """The arguments for DataLoader: planted ones, with those that --set names in their place."""
    for text in args.set:
        name, equals, value = text.partition("=")
        if not equals:
            raise SystemExit("--set takes NAME=VALUE, not %r" % text)
        try:
            planted[name] = ast.literal_eval(value)
        except (SyntaxError, ValueError):
            planted[name] = value
    if not planted.get("num_workers"):
        for name in WITH_WORKERS_ONLY:
            planted.pop(name, None)
    return planted
