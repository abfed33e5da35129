"""The epochs that a trainer goes over a DataLoader, and their steps."""

from _thread import get_ident
from time import monotonic_ns as clock

from . import state
from .batch import alone, samples, size
from .look import fields, reference_to
from .loop import LISTED

MOST_OPEN = 16  # epochs under way that are watched for lying within one another
PROGRESS = 1000000000  # nanoseconds between two reports of an epoch under way
# nanoseconds by which a report is overdue when it is made at a batch's arrival, and not left to the next call for one
SLOW = 1000000000
INNER = 256  # epochs within one step that are kept apart
FULL = 100000000  # nanoseconds between two steps taken in full, on average; where a step is longer, each one is
MOST_SHORT = 256  # short steps between two in full, on average
STALE = 500000000  # nanoseconds after a step in full from which on none is short

process = state.process
local = state.local


class Epoch:
    """One time over a loader. It keeps neither the loader nor its iterator, whose end ends workers.

    Most of what is to be known of a step costs more than a step of a millisecond may lose, so of short ones some are
    taken in full, and chance decides which. The others are timed and counted; they had as many samples as the one in
    full before them."""

    __slots__ = (
        "left", "due", "address", "thread", "waited", "waiting", "allotted", "drawn", "each", "chosen", "passed",
        "booked", "loop", "loader", "iterator", "number", "begun", "create", "draw", "redraw", "last", "entered",
        "steps", "wait", "first_wait", "drain", "grad", "ended", "inner", "reported_at", "workers", "born",
    )

    def __init__(self, loop, loader, begun, create, iterator):
        self.loop = loop
        self.loader, self.iterator = reference_to(loader), reference_to(iterator)
        self.address = id(iterator)
        self.left = self.allotted = 0  # short steps before the next one in full: now, and at the last fold()
        self.due = 0  # from when on there are none
        self.drawn = True  # False: so few that the epoch's last step is taken in full
        self.waited = 0  # nanoseconds in those that are not booked yet
        self.each = 0  # samples in each of them
        self.chosen = True  # chance chose the step under way, or the last one
        self.passed = 1  # steps since the one in full before this one, which counts
        self.booked = 0  # short steps since the last one in full that are booked
        self.thread = get_ident()
        self.number = loop.begun
        self.begun = begun
        self.create = create
        self.draw = self.redraw = None
        self.last = begun + create  # when it was last heard of
        self.entered = 0  # when its last __next__ began
        self.waiting = False  # within __next__
        self.steps = self.wait = 0
        self.first_wait = self.drain = None
        self.grad = False
        self.ended = False
        self.inner = []  # (begun, ended) of epochs of other loaders within the step under way
        self.reported_at = 0
        self.workers = worker_pids(iterator)
        self.born = len([pid for pid in self.workers if pid not in loop.workers])
        loop.workers = set(self.workers)
        loop.begun += 1
        loop.create += create
        loop.changed = True

    def drew(self, began, reset):
        """Books the part of iter() in which the sampler began: with new workers torch has it begin twice."""
        if not self.workers:
            self.draw = began
        elif reset is not None:
            self.draw = reset
            if self.born:
                self.redraw = began

    def lives(self):
        """Says whether more of it may come."""
        return not self.ended and (self.iterator is None or self.iterator() is not None)

    def enter(self, now):
        """A __next__ begins that is to be taken in full, which ends the step before."""
        self.chosen = self.left <= 0 and self.drawn
        if self.entered:
            loop = self.loop
            took = now - self.entered
            self.fold()
            self.passed = self.booked + 1
            self.pace(took // self.passed)
            if len(process.open) > 1:
                self.settle()
            if self.inner:
                within = min(sum([end - begun for begun, end in self.inner]), took)
                self.inner = []
                loop.nested += within
                took -= within
            loop.step_time += took
        self.draw_short()
        self.booked = 0
        self.entered = now
        self.waiting = True

    def pace(self, took):
        """Reckons by how long a step took how many there are to one in full. It changes by half or double: one slow
        step does not have those after it taken in full, which would not be the steps of chance then."""
        loop = self.loop
        loop.stride = max(loop.stride // 2, min(FULL // max(took, 1), 2 * loop.stride, MOST_SHORT), 1)

    def draw_short(self):
        """Draws how many short steps come before the next one in full. An epoch's last step, whose batch may be a
        smaller one, is taken in full if the epoch before had as many."""
        steps, before_last = process.drawn(2 * self.loop.stride - 1), self.loop.length - 2 - self.steps
        self.drawn = not 0 <= before_last < steps
        self.allot(steps if self.drawn else before_last)

    def spare(self, steps):
        """Lets no more be short than so many, which chance chose as well."""
        if steps < self.left:
            self.allot(steps)
            self.drawn = True

    def allot(self, steps):
        """Lets so many steps be short, once those before were booked."""
        self.left = self.allotted = steps

    def fold(self):
        """Books the short steps."""
        steps = self.allotted - self.left
        if not steps:
            return
        loop, wait = self.loop, self.waited
        self.allotted, self.waited = self.left, 0
        self.booked += steps
        self.steps += steps
        self.wait += wait
        loop.steps += steps
        loop.wait += wait
        loop.samples += steps * self.each
        if self.grad:
            loop.grad_steps += steps
        if self.thread != process.main:
            loop.aside_steps += steps
        loop.changed = True

    def late(self, now):
        """The batch of a short step came late."""
        self.fold()
        if now >= process.next + SLOW:
            self.report_late(now)

    def report_late(self, now):
        """Tells as a batch arrives, which its wait takes in."""
        spent = timed_report(self.loop, now)
        self.wait += spent
        self.loop.wait += spent
        return spent

    def settle(self):
        """Takes in evaluations that began within the step under way and were given up before their end."""
        for other in list(process.open):
            if other is self or other.begun <= self.entered or other.thread != self.thread:
                continue
            other.fold()
            if other.steps > 1 or not other.grad:
                self.within(other.begun, other.last)
                give_up(other)

    def within(self, begun, ended):
        self.inner = [each for each in self.inner if each[0] < begun][:INNER]
        self.inner.append((begun, ended))

    def count(self, batch, grad, cpu, drawing):
        """A batch came. What needs no clock is done before took() reads it: the job waits for that too."""
        loop = self.loop
        local.current = loop
        loop.steps += 1
        self.grad = grad
        if grad:
            loop.grad_steps += 1
        thread = get_ident()
        if thread != process.main:
            loop.aside_steps += 1
        if not self.steps:
            self.thread = thread
            self.reported_at = 0
        if self.steps and self.chosen:
            loop.taken += 1
            loop.taken_cpu += cpu
            if drawing is not None:
                loop.drawn += 1
                loop.draw_time += drawing.took
        count = 1 if loop.single and alone(batch) else samples(batch)
        loop.samples += count
        if self.chosen:
            self.each = count
        if loop.full % 50 == 0 or loop.full < 3:
            loop.size = size(batch, count) or loop.size
        loop.full += 1
        if len(loop.waits) > 2 * LISTED:
            loop.waits = loop.waits[-LISTED:]

    def took(self, begun, now):
        """A batch that was counted is handed over."""
        loop = self.loop
        self.waiting = False
        self.last = now
        wait = now - begun
        self.wait += wait
        loop.wait += wait
        if not self.steps:
            self.first_wait = wait
            loop.first_wait += wait
        elif self.chosen:
            loop.waits.append(wait // 1000)
        self.steps += 1
        self.due = now + STALE
        loop.changed = True
        if now >= process.next + SLOW or self.steps == 1 and (not process.trains or state.due(now)):
            process.trains = True
            spent = self.report_late(now)
            if self.steps == 1:
                self.first_wait += spent
                loop.first_wait += spent

    def drained_short(self, begun, now):
        """The __next__ that ended it began as a short step."""
        self.enter(begun)
        self.drained(begun, now)

    def drained(self, begun, now):
        """The __next__ that ended it."""
        loop = self.loop
        process.lane.epoch = None
        self.waiting = False
        self.last = now
        self.drain = now - begun
        loop.drain += self.drain
        loop.epochs += 1
        loop.length = self.steps
        loop.changed = True
        self.ended = True
        for other in list(process.open):
            if (
                other is not self
                and other.entered
                and other.entered < self.begun
                and not other.waiting
                and other.thread == self.thread
            ):
                other.within(self.begun, now)
        give_up(self)
        left = process.open[-1:]
        local.current = left[0].loop if left else None
        if state.due(now):
            spent = timed_report(loop, now)
            self.drain += spent
            loop.drain += spent

    def counts(self):
        """Says whether it is to be reported: pipetune records the first 200 epochs of a loop, then each 10th, from
        2,000 on each 100th, and so on. Workers that were begun are always reported."""
        each = 1
        while self.number >= 200 * each:
            each *= 10
        return self.born > 0 or self.number % each == 0

    def news(self, now):
        last = self.reported_at
        return self.counts() and (not last or now - last >= PROGRESS and self.last > last)

    def reported(self):
        self.reported_at = self.last

    def message(self):
        body = {
            "number": self.number,
            "begun": self.begun,
            "create": self.create,
            "steps": self.steps,
            "wait": self.wait,
            "wall": self.last - self.begun,
            "born": self.born,
            "grad": self.grad,
            "ended": self.ended,
        }
        if self.first_wait is not None:
            body["first_wait"] = self.first_wait
        if self.draw is not None:
            body["draw"] = self.draw
        if self.redraw is not None:
            body["redraw"] = self.redraw
        if self.drain is not None:
            body["drain"] = self.drain
        if self.workers:
            body["workers"] = self.workers[:256]
        return {"kind": "epoch", "loader": self.loop.number, "epoch": body}


def give_up(epoch):
    """Takes an epoch from those under way and keeps it to be reported a last time. One that was left has had its steps
    up to its last batch."""
    if not state.drop(process.open, epoch):
        return
    if not epoch.ended and epoch.entered and epoch.thread == get_ident():
        epoch.fold()
        epoch.loop.step_time += epoch.last - epoch.entered
        epoch.entered = epoch.last  # it may be taken up again
    if epoch.counts():
        state.keep(epoch)


def begin(loop, loader, begun, now, iterator):
    """Begins an epoch; an earlier one of the same iterator or loader that took no batch since is given up."""
    epoch = Epoch(loop, loader, begun, now - begun, iterator)
    short, process.lane.epoch = process.lane.epoch, None
    if short is not None and short.thread == epoch.thread:
        short.fold()
    for other in list(process.open):
        if other.loop is loop and other.entered and not other.waiting:
            give_up(other)
    process.open.append(epoch)
    for other in process.open[:-MOST_OPEN]:
        give_up(other)
    if state.due(now):
        spent = timed_report(loop, now)
        epoch.create += spent
        loop.create += spent
    return epoch


def timed_report(loop, now):
    """Tells, and returns the time that took: the job waits for it as for the call it is made in, so it counts there.
    The totals of the loop that it is added to are told once more by the next report, as this one went without it."""
    state.report(now)
    loop.changed = True
    return clock() - now


def worker_pids(iterator):
    pids, workers = [], fields(iterator).get("_workers")
    for worker in workers if type(workers) is list else ():
        pid = fields(fields(worker).get("_popen")).get("pid")
        if type(pid) is int:
            pids.append(pid)
    return pids
