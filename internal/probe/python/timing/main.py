"""Reads what is asked from standard input, and times the libraries that can read such items."""

import json
import os
import random
import resource
import sys

MEMORY = (
    3 << 30
)  # address space beyond what the libraries themselves take: the largest picture that is decoded has half a gigabyte
LATE_SECONDS = 0.7  # what torch's part gets at least: importing it may have taken all that was left


def confine(extra):
    """Limits how much address space is taken beyond what is, so that a damaged file does not take the machine's memory;
    None lifts the limit for an import."""
    with open("/proc/self/statm") as f:
        mapped = int(f.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = hard if extra is None else mapped + extra
    if hard != resource.RLIM_INFINITY and (wanted == resource.RLIM_INFINITY or wanted > hard):
        wanted = hard
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    began = clock()
    request = json.load(sys.stdin)
    source = Source(request)
    seconds = request["Seconds"]
    Subject.most_held = request["HeldBytes"]
    items = source.items[:]
    random.Random(request["Seed"]).shuffle(items)

    # Importing torch takes seconds: what needs it comes last, and only where there is time for it.
    refused = request.get("NoTorch") or ("" if seconds >= request["TorchFrom"] else "there is no time to import it")
    torch = has("torch") and not refused
    if refused and has("torch"):
        NOTES.append("torch was left out: " + refused)
    first = began + seconds * (0.6 if torch else 1)

    if source.kind in ("image", "tar"):
        by_format, looked, load = pictures(source, items)
        subjects = (
            pillow_subjects(source, by_format, looked, load) + opencv_subjects(source, by_format, looked, load)
            if looked
            else []
        )
        if source.kind == "tar":
            subjects += plain_subjects(source, items)
    elif source.kind == "other":
        subjects = plain_subjects(source, items)
    else:
        subjects = array_subjects(source, items)
    confine(MEMORY)
    run(out, subjects, first)
    if torch:
        late = []
        confine(None)
        if source.kind in ("image", "tar") and looked:
            late += torchvision_subjects(source, by_format, looked, load)
        if source.array:
            late += torch_subjects(source, items, request.get("BatchSize") or BATCH)
        confine(MEMORY)
        run(out, late, max(began + seconds, clock() + LATE_SECONDS))
    answer(out, {"done": True, "notes": NOTES})


main()
