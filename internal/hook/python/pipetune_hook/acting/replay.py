"""Hands out the last batches again and again in place of the loader, and times the steps: they are what the loop does
if data is free."""

import os
import sys
from time import monotonic_ns as clock

from ..look import fields
from . import batches

# nanoseconds that a chunk of steps is to take: the GPU is waited for at its ends, which may cost up to one step's
# launches
LENGTH = 1000000000
SHORTEST = 3  # steps of a chunk, and of the first one
GROWTH = 4  # times as long as the one before at most
MEMORY = 256 << 20  # bytes of batches that are kept at most, beyond the first
TENSORS = 256  # of them that are kept as they came: each that came through shared memory holds a file descriptor


class Kept:
    """The batches that are kept of one loop."""

    def __init__(self, most):
        self.most = most
        self.batches = []
        # (tensor, its version as it was handed to the loop), of the last batch alone: each may hold shared memory
        self.versions = []
        self.checked = False
        self.changing = False  # the loop was seen to change the tensors that it is handed
        self.changed = False  # so that copies are handed out
        self.apart = False  # copies are kept, since what came holds shared memory or descriptors that are scarce
        self.ready = []  # then: copies for the next steps
        self.at = 0

    def full(self):
        return len(self.batches) >= self.most

    def add(self, batch):
        """Keeps a batch that goes to the loop. The containers are copied, as a loop may put other things in them;
        tensors are, once it was seen to change them."""
        if not self.batches:
            taken, count = batches.size(batch)
            self.most = max(1, min(self.most, MEMORY // max(taken, 1)))
            self.apart = self.most * count > TENSORS or self.most * taken > shared_memory() // 2
        self.batches.append(batches.copied(batch) if self.changed or self.apart else batches.again(batch))
        if not self.checked:
            self.look()
            self.versions = [
                (tensor, tensor._version) for tensor in batches.tensors(batch) if not tensor.is_inference()
            ]

    def look(self):
        """Notes whether the loop has changed the tensors of the last batch."""
        self.changing = self.changing or any([tensor._version != version for tensor, version in self.versions])
        self.versions = []

    def usable(self):
        """Says whether what was kept is as it was. If not, other batches are kept: copies."""
        if not self.checked:
            self.checked = True
            self.look()
            self.changed = self.changing
            if self.changed and not self.apart:
                self.batches = []
                return False
        return self.full()

    def refill(self):
        """Copies what a loop will change, between two chunks."""
        if self.changed:
            self.ready = [batches.copied(batch) for batch in self.batches]

    def hand(self):
        batch = self.batches[self.at % len(self.batches)]
        self.at += 1
        if not self.changed:
            return batches.again(batch)
        return self.ready.pop() if self.ready else batches.copied(batch)


def shared_memory():
    """Bytes that /dev/shm has left."""
    try:
        shm = os.statvfs("/dev/shm")
    except OSError:
        return 2 * MEMORY  # none is there, and nothing of a batch lies in it
    return shm.f_bavail * shm.f_frsize


class Meter:
    """Times the steps of one loop in chunks, from one asking for a batch to another."""

    def __init__(self, agent):
        self.agent = agent
        self.lead = None  # the loop whose steps are timed: the first that asks
        self.begun = 0
        self.steps = 0
        self.length = SHORTEST
        self.most = None  # steps of a chunk
        self.filled = False  # the workers had nothing left to do when the chunk began
        self.void = False  # something else was gone over meanwhile

    def tick(self, loop, iterator, between):
        """A step ends, and the next one begins; between is called between two chunks, where no clock runs. Says whether
        it was the first."""
        first = self.lead is None
        if first:
            self.lead = loop
        elif loop is not self.lead:
            return False
        else:
            self.steps += 1
            if self.steps < self.length:
                return False
            settle()
            took = clock() - self.begun
            self.agent.answer(
                {"row": "chunk", "steps": self.steps, "time": took, "filled": self.filled, "void": self.void}
            )
            self.length = max(
                SHORTEST,
                min(self.length * LENGTH // max(took, 1), GROWTH * self.length, self.most or GROWTH * self.length),
            )
        between()
        self.void, self.steps = False, 0
        self.filled = idle(iterator)
        settle()
        self.begun = clock()
        return first


class Replay:
    """Takes the loader's place from the step `start` on, with `keep` batches of each loop at most."""

    def __init__(self, agent, start, keep):
        self.agent = agent
        self.start = start
        self.keep = keep
        self.kept = {}  # Loop: Kept
        self.meter = Meter(agent)

    def aside(self):
        self.meter.void = True

    def close(self):
        self.kept = {}

    def next(self, loop, iterator, original):
        handed = None
        try:
            kept = self.kept.get(loop)
            if kept is None:
                kept = self.kept[loop] = Kept(self.keep)
            if kept.full() and self.agent.count >= self.start and kept.usable():
                self.meter.most = len(kept.batches) if kept.changed else None
                if self.meter.tick(loop, iterator, self.refill):
                    self.agent.answer({"row": "replay", "kept": len(kept.batches), "copied": kept.changed})
                handed = (kept.hand(),)
        except Exception as error:
            self.agent.give_up(error)
        if handed is not None:
            return handed[0]
        batch = original(iterator)
        try:
            if not kept.full():
                kept.add(batch)
        except Exception as error:
            self.agent.give_up(error)
        return batch

    def refill(self):
        for kept in self.kept.values():
            kept.refill()


def settle():
    """Waits until the GPU has done what was queued: steps count when they are done, and not when they are launched."""
    cuda = sys.modules["torch"].cuda
    if cuda.is_initialized() and not cuda.is_current_stream_capturing():
        cuda.synchronize()


def idle(iterator):
    """Says whether the workers of an iterator have made all that was asked of them: until then they take the CPUs from
    the step."""
    own = fields(iterator)
    asked = own.get("_tasks_outstanding")
    if type(asked) is not int:
        return True  # no workers
    try:
        made, pinned = own["_worker_result_queue"], own["_data_queue"]
        return made.qsize() + (0 if pinned is made else pinned.qsize()) >= asked
    except (KeyError, AttributeError, NotImplementedError, OSError):
        return True  # of another kind: chunks are taken as they come
