"""The totals of a trainer's DataLoader."""

from functools import partial

from .batch import SIZES
from .sites import site_messages, with_sites

LISTED = 256  # waits, or batches' times, that one report lists at most


class Loop:
    """A DataLoader of this process, or several that were made alike and are gone over one after the other: see
    numbers.py."""

    def __init__(self, number, made, grad):
        self.number = number
        # None: it is of one loader; else whether those that have it are gone over with gradients enabled
        self.grad = grad
        self.alike = grad is not None
        self.single = False  # its loader gives items as its dataset has them
        self.loaders = 1 if grad is None else 0  # that had it so far
        self.made = made  # settings and place of its construction
        self.made_sent = False
        self.changed = False
        self.reported_at = 0  # when its totals were reported last
        self.steps = self.grad_steps = self.aside_steps = self.samples = 0
        self.wait = self.first_wait = self.create = self.drain = 0
        self.step_time = self.nested = 0
        self.begun = self.epochs = 0
        self.length = expected(made)  # steps of the last epoch that came to its end
        self.stride = 1  # steps to one in full, on average
        self.size = (0,) * len(SIZES)
        self.full = 0  # steps taken in full
        self.taken = self.taken_cpu = 0  # of those that chance chose, no epoch's first: CPU time in __next__
        self.drawn = self.draw_time = 0  # of these, those whose sampler was timed: nanoseconds it took in them
        self.waits = []  # microseconds in those that chance chose, no epoch's first
        self.workers = set()  # process numbers of the last epoch's
        self.sites = {}
        self.syncs = self.sync_time = 0
        self.device_steps = self.device_time = self.device_starved = self.device_waited = 0

    def made_reported(self):
        self.made_sent = True

    def message(self, now):
        steps = {
            "clock": now,
            "steps": self.steps,
            "grad_steps": self.grad_steps,
            "samples": self.samples,
            "wait": self.wait,
            "first_wait": self.first_wait,
            "create": self.create,
            "drain": self.drain,
            "step_time": self.step_time,
            "nested": self.nested,
            "loaders": self.loaders,
            "begun": self.begun,
            "epochs": self.epochs,
            **dict(zip(SIZES, self.size)),
        }
        if self.taken:
            steps["taken"], steps["taken_cpu"] = self.taken, self.taken_cpu
        if self.drawn:
            steps["drawn"], steps["draw_time"] = self.drawn, self.draw_time
        if self.aside_steps:
            steps["aside_steps"] = self.aside_steps
        if self.syncs:
            steps["syncs"], steps["sync_time"] = self.syncs, self.sync_time
        if self.device_steps:
            steps["device_steps"], steps["device_time"] = self.device_steps, self.device_time
            steps["device_starved"], steps["device_waited"] = self.device_starved, self.device_waited
        if self.waits:
            steps["waits"] = self.waits[-LISTED:]
        message = {"kind": "steps", "loader": self.number, "steps": steps}
        return with_sites(self.sites, message, partial(self.reported, now))

    def site_messages(self):
        return site_messages(self.sites, {"kind": "steps", "loader": self.number})

    def reported(self, now):
        self.reported_at = now
        self.changed = False
        self.waits = []


def expected(made):
    """The steps of an epoch by a loader's settings; 0: not known. A sampler of the job's may give another number."""
    items, size = made.get("items"), made.get("batch_size")
    if type(items) is not int or type(size) is not int or size < 1:
        return 0
    return items // size if made.get("drop_last") else (items + size - 1) // size
