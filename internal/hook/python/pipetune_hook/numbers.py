"""The numbers that DataLoaders are identified by: one each, and beyond APART one for those that are made alike.

A job that makes a loader for each of its tasks makes thousands. Kept apart, each report would take longer than the one
before, and nobody keeps them.
"""

import sys
from time import monotonic_ns as clock

from . import loop as loops
from . import settings, state

APART = 96  # loaders of a process that have a number of their own, from when they are made
# further numbers: each of those made at one line with the same settings, all for training or none, while no two are
# gone over at once
ALIKE = 32
# settings that loaders of one number may differ in; those are not reported
VARYING = (), ("items",), ("items", "batch_size")
process = state.process


def constructed(loader, made):
    """Gives a loader a number while there are some for each, and else leaves that to when it is first gone over."""
    loop = loop_known(process.loaders.get(loader))
    if loop is None or loop.alike:
        loop = own(made)
    elif made != loop.made:
        loop.made, loop.made_sent = made, False
    keep(loader, loop, made)


def loop_known(known):
    """The Loop that a loader was given in this process, None where it came by fork, is a copy, or was given none."""
    return process.loops.get(known[1]) if known is not None and known[0] == process.pid else None


def own(made):
    """A Loop for one loader; None where there are too many."""
    return begun(made, None) if len(process.loops) < APART else None


def begun(made, grad):
    """A new Loop; one that several loaders may have is taken before another thread can see it."""
    number = next(process.numbers)
    if grad is not None:
        process.taken[number] = None
    loop = process.loops[number] = loops.Loop(number, made, grad)
    return loop


def keep(loader, loop, made):
    process.loaders.keep(loader, (process.pid, loop.number if loop is not None else None, made))
    if loop is not None and not loop.made_sent:
        now = clock()
        if state.due(now):
            state.report(now)


def loop_of(loader):
    """The Loop of a loader that is about to be gone over, which release() gives back; None where there is none, which
    is counted."""
    known = process.loaders.get(loader)
    loop = loop_known(known)
    if loop is not None and not loop.alike:
        made = dict(loop.made, **settings.now(loader))
        if made != loop.made:
            loop.made, loop.made_sent = made, False
        return loop
    made = dict(known[2] if known is not None else {}, **settings.now(loader))
    another = (loop is None and own(made)) or shared(loader, made, loop)
    if another is None:
        process.untold += 1
    elif another is not loop:
        another.loaders += 1
    keep(loader, another, made)
    return another


def shared(loader, made, earlier):
    """Takes the Loop of loaders made alike: the one that the loader had earlier, one that none of them is gone over
    with now, or a new one; None where there are too many."""
    grad, bare = sys.modules["torch"].is_grad_enabled(), without(made, VARYING[-1])
    same = [
        loop for loop in list(process.loops.values()) if loop.grad is grad and without(loop.made, VARYING[-1]) == bare
    ]
    room = len(process.loops) < APART + ALIKE
    # once some differ all are reported together, and not those of one length between the others
    for names in reversed(VARYING):
        kind = without(made, names)
        known = [loop for loop in same if loop.made == kind]
        for loop in ([earlier] if earlier in known else []) + known:
            if take(loop, loader):
                return loop
        if known and room:
            return begun(kind, grad)
    if room:
        return begun(without(made, VARYING[min(len(same), len(VARYING) - 1)]), grad)
    return None


def without(made, names):
    return {key: value for key, value in made.items() if key not in names}


def take(loop, loader):
    """Takes a Loop where no other loader is gone over with it, by this thread or another one."""
    claim = object()
    if process.taken.setdefault(loop.number, claim) is not claim:
        return False
    for epoch in list(process.open):
        if epoch.loop is loop and epoch.lives() and epoch.loader() is not loader:
            release(loop)
            return False
    return True


def release(loop):
    """The epoch for which a Loop was taken has begun, or could not."""
    if loop.alike:
        process.taken.pop(loop.number, None)
