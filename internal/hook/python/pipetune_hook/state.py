"""What one process knows of itself: whether the hook is on, when to report, and the totals reported so far."""

import os
import sys
from _thread import _local, get_ident
from functools import partial
from itertools import count
from time import monotonic_ns as clock
from time import sleep

from . import wire
from .alarm import HERE, foreign, trace_of
from .look import SideTable, class_module, fields, name_of, one_of, text

# nanoseconds between two reports of the totals, each of which takes the job 0.2 ms, and 0.5 after other work (AMD
# EPYC, 2 CPUs, Python 3.11)
EVERY = 500000000
SOON = 10000000  # nanoseconds until the next try after one that nobody took, doubled each time up to EVERY
# further tries of a worker that ends, a millisecond apart: what it does not report now is reported by nobody
PATIENCE = 3
BURST = 40  # reports ahead of time that a process may save up for the ends of epochs
REFILL = 100000000  # nanoseconds in which it saves up one
# what messages of a process may cost at once: the receiver looks at 400 a second of one, and what it does not is lost
ROOM = 150
SPACE = 5000000  # nanoseconds in which it saves up one
KEPT_EPOCHS = 64  # epochs that wait to be reported at most

getpid = os.getpid


def main_thread():
    """The thread that the program runs in: after a fork the one that forked, which threading keeps track of."""
    threading = sys.modules.get("threading")
    main = getattr(threading, "main_thread", get_ident)()
    return getattr(main, "ident", main)


class Allowance:
    """What may be spent, and is saved up again bit by bit."""

    def __init__(self, most, every):
        self.left = self.most = most
        self.every = every  # nanoseconds
        self.since = clock()

    def at(self, now):
        gained = (now - self.since) // self.every
        if gained > 0:
            self.left = min(self.most, self.left + gained)
            self.since += gained * self.every
        return self.left


class Lane:
    """The one epoch that may take short steps: the last one that took a step in full, until another one begins."""

    __slots__ = ("epoch",)


class Process:
    """The state of this process. A forked child finds its parent's and starts anew: see here()."""

    def __init__(self):
        self.on = True
        self.loaders = SideTable()  # of each loader: number of the process, its own or None, settings and place
        self.iterators = SideTable()  # of each iterator: its Epoch
        self.fetchers = SideTable()  # of each fetcher of a trainer without workers: its Work
        self.inherited = []  # iterators of the process that this worker was forked from
        self.lane = Lane()
        self.begin()

    def begin(self):
        self.pid = getpid()
        self.main = main_thread()
        self.seq = count(1)
        self.lost = 0
        self.untold = 0  # times that a loader was gone over for which there was no number
        self.greeted = False
        self.parent = None  # of a worker: the process whose loader it works for
        self.number = None  # and the number of that loader
        self.numbers = count()  # of its loaders
        self.loops = {}  # number: Loop, of the loaders that this process has made or gone over
        self.taken = {}  # number: whoever makes an iterator for it, of loops that several loaders have
        self.trains = False  # a first batch was taken, and reported
        self.works = {}  # (number, parent): Work, of the loaders whose batches it makes
        self.epochs = []  # ended, or given up, and not reported yet
        self.open = []  # epochs under way, the newest last
        self.lane.epoch = None
        self.of_parent = getattr(self, "device", None)  # held: to end its events is a call of CUDA, in a bad fork
        self.device = None
        self.seed = 1
        self.look = False  # for CUDA, now and then
        self.next = 0
        self.reporting = False  # a thread reports; another one leaves it to that
        self.retry = SOON
        self.reports = Allowance(BURST, REFILL)
        self.room = Allowance(ROOM, SPACE)

    def drawn(self, below):
        """A random number from 0 on; the job's own random numbers stay as they are."""
        self.seed = (1103515245 * self.seed + 12345) & 0x7FFFFFFF
        return (self.seed >> 8) % below


class Local(_local):
    """What one thread is at."""

    making = None  # the loader whose iterator it makes, and its Loop
    began, reset = 0, None  # nanoseconds that this iterator's __init__ in its base and its _reset took
    current = None  # Loop whose step is under way
    work = None  # of a worker: Work of the loader whose batches it makes
    fetching = None  # Work of the batch being made
    inside = False  # within a call that is timed: calls made by it are part of it


process = Process()
local = Local()


def here():
    """Says whether the hook is on in this process, which may have been forked since it was last asked."""
    if not process.on:
        return False
    if process.pid != getpid():
        process.begin()
        local.__dict__.clear()
    return True


def failed(error):
    """Turns the hook off in this process and says why. What a signal handler or another thread threw goes on."""
    try:
        if foreign(error):
            raise error
        if process.on:
            process.on = False
            process.lane.epoch = None
            switched_off(error)
    finally:
        # its traceback holds this frame, which would hold what the job is rid of until the collector comes
        error = None


def switched_off(error):
    try:
        sender = wire.Sender()
        try:
            sender.send(process, {"kind": "off", "reason": reason(error)})
        finally:
            sender.close()
    except Exception as another:
        if foreign(another):
            raise
        # Else there is nobody to report to.


def reason(error):
    """What an error says. One with arguments of the job's would ask them for their text."""
    said, line = name_of(type(error)).replace("builtins.", ""), ""
    if text(class_module(type(error))) == "builtins" and all([one_of(type(each), (str, int)) for each in error.args]):
        said += ": %s" % error
    trace = trace_of(error)
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith(HERE):
            line = " at %s:%d" % (code.co_filename[len(HERE) :], trace.tb_lineno)
        trace = trace.tb_next
    return text(said + line)


def due(now):
    """Spends one of the reports saved up, so that many short epochs cost no more than REFILL allows."""
    if process.reports.at(now) <= 0:
        return False
    process.reports.left -= 1
    return True


def report(now):
    """Sends what has changed, and says whether all of it went. What does not go stays for a later report: totals lose
    nothing by it."""
    if not here():
        return True
    if process.reporting:
        return False
    sender = wire.Sender()
    try:
        try:
            process.reporting = True
            process.next = now + EVERY
            process.look = True
            return send_pending(now, sender)
        finally:
            process.reporting = False
            sender.close()
    # for an alarm that strikes in the lines above: the socket, if left to the collector, would swallow the next one
    finally:
        if not sender.closed:
            process.reporting = False
            sender.close()


def send_pending(now, sender):
    for message, reported in pending(now):
        if process.room.at(now) <= 0:
            return False  # what is left comes with the next report
        outcome = sender.send(process, message)
        process.room.left -= sender.cost
        if outcome == wire.GONE:
            process.on = False
            return True
        if outcome == wire.FULL:
            process.lost += 1
            process.next = now + process.retry
            process.retry = min(2 * process.retry, EVERY)
            return False
        reported()
    process.retry = SOON
    return True


def report_at_exit():
    """Reports what a worker that ends has left, a little more patiently."""
    for _ in range(PATIENCE):
        if report(clock()):
            return
        sleep(0.001)
    report(clock())


def pending(now):
    """Yields each message that is due with what is to be done once it was sent: what has no second chance first, then
    totals, then epochs."""
    if not process.greeted:
        yield hello(), greeted
    for loop in list(process.loops.values()):
        if loop.made is not None and not loop.made_sent:
            yield {"kind": "loader", "loader": loop.number, "made": loop.made}, loop.made_reported
    changed = [each for each in list(process.loops.values()) + list(process.works.values()) if each.changed]
    for each in sorted(changed, key=reported_at):
        yield each.message(now)
    for each in list(process.loops.values()) + list(process.works.values()):
        if each.sites:
            for message in each.site_messages():
                yield message
    for epoch in list(process.epochs):
        yield epoch.message(), partial(drop, process.epochs, epoch)
    for epoch in list(process.open):
        if epoch.news(now):
            yield epoch.message(), epoch.reported


def reported_at(totals):
    return totals.reported_at


def drop(epochs, epoch):
    """Takes an epoch from a list, where no other thread has done so; says whether it was there."""
    try:
        epochs.remove(epoch)
        return True
    except ValueError as error:
        if foreign(error):
            raise
        return False


def keep(epoch):
    """Keeps a finished epoch until it was reported."""
    process.epochs.append(epoch)
    more = len(process.epochs) - KEPT_EPOCHS
    if more > 0:
        del process.epochs[:more]
        process.lost += more


def greeted():
    process.greeted = True


def hello():
    torch = sys.modules.get("torch")
    message = {
        "kind": "hello",
        "python": "%d.%d.%d" % sys.version_info[:3],
        "torch": text(getattr(torch, "__version__", "")),
        "executable": sys.executable or "",
        "parent": process.parent or begun_by(),
    }
    if process.number is not None:
        message["loader"] = process.number
    try:
        message["cwd"] = os.getcwd()
    except OSError as error:
        if foreign(error):
            raise
        # Else the folder was removed under it.
    rank = os.environ.get("RANK", "")
    if rank.isdigit() and len(rank) < 10:
        message["rank"] = int(rank)
    return message


def begun_by():
    """The process that began this one: under a fork server that is not the parent."""
    module = sys.modules.get("multiprocessing.process")
    if module is not None:
        pid = fields(module.current_process()).get("_parent_pid")
        if type(pid) is int and pid != process.pid:
            return pid
    return os.getppid()
