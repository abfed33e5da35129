"""The hook where pipetune was asked to measure a job by acting on it: `diagnose --headroom`, `tune`.

The one exception to what the hook promises: here it takes the place of the loader, waits for the GPU, and calls what it
is handed. So it lies in the private folder of no other job, and is imported where PIPETUNE_HOOK_ORDERS names the socket
that orders come through. Who decides is pipetune; what orders there are, and what is answered, stands in orders.go.
Once pipetune is gone, batches come from the job's own loader again.
"""

import _socket
import json
import os
import sys
from time import monotonic_ns as clock

from .. import state, wire
from ..alarm import foreign
from ..guise import standing_for
from . import candidate
from .replay import Replay

PATH = os.environ.get("PIPETUNE_HOOK_ORDERS", "")
KIND = _socket.SOCK_SEQPACKET | _socket.SOCK_CLOEXEC
NOW = _socket.MSG_DONTWAIT | _socket.MSG_NOSIGNAL


class Agent:
    """Takes orders in one process, in the thread that asks for batches."""

    def __init__(self):
        self.pid = None  # of the process whose line this is; a fork has none yet
        self.line = None
        self.count = 0  # batches that training has asked for
        self.since = 0
        self.source = None  # who hands out batches in the loader's place
        self.asked = []  # orders that need an iterator at hand
        self.stop = False

    def ready(self):
        """Says whether there is a line to pipetune, which the first batch of a process asks for."""
        if self.pid != os.getpid():
            self.pid, self.count, self.source, self.since = os.getpid(), 0, None, clock()
            self.line = connected()
            self.answer({"row": "here", "token": wire.TOKEN})
        return self.line is not None

    def answer(self, row):
        """Sends a row. One that cannot go at once is dropped: pipetune has stopped reading, or will ask again."""
        try:
            if self.line is not None:
                self.line.send(json.dumps(row, separators=(",", ":")).encode(), NOW)
        except OSError as error:
            if foreign(error):
                raise

    def listen(self):
        """Takes the orders that have come."""
        while self.line is not None:
            try:
                data = self.line.recv(wire.LONGEST, _socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError as error:
                if foreign(error):
                    raise
                data = b""
            if not data:
                self.leave()
                return
            self.obey(json.loads(data))

    def obey(self, order):
        what = order["order"]
        if what == "count":
            self.answer({"row": "count", "steps": self.count, "time": clock() - self.since})
        elif what == "replay":
            self.replace(Replay(self, order["from"], order["keep"]))
        elif what == "use":
            self.replace(candidate.Used(self, order.get("candidate")))
        elif what == "stop":
            self.stop = True
        else:
            self.asked.append(order)

    def replace(self, source):
        """Has another source hand out batches; None: the loader itself."""
        old, self.source = self.source, source
        if old is not None:
            old.close()

    def work(self, iterator, original):
        """Does what was asked for at a step's edge, where the loop waits."""
        while self.asked:
            order = self.asked.pop(0)
            loader = candidate.loader_of(iterator)
            if order["order"] == "describe":
                self.answer(candidate.describe(loader))
            elif order["order"] == "candidate":
                candidate.alone(self, loader, order["candidate"], original)
            self.listen()

    def leave(self):
        """From here on batches are the loader's own."""
        line, self.line = self.line, None
        self.asked, self.stop = [], True
        self.replace(None)
        if line is not None:
            line.close()

    def give_up(self, error):
        """What went wrong here ends the acting, and the job goes on with its own loader."""
        if foreign(error):
            raise error
        self.answer({"row": "failed", "why": state.reason(error)})
        self.leave()


def connected():
    line = _socket.socket(_socket.AF_UNIX, KIND)
    try:
        line.connect(PATH)
    except OSError as error:
        line.close()
        if foreign(error):
            raise
        return None  # pipetune is gone
    return line


def patch(data):
    """Wraps the hook's own wrapper of __next__: what is handed out here is no step of the hook's."""
    kind = data.dataloader._BaseDataLoaderIter
    kind.__next__ = acting(kind.__next__, sys.modules["torch"].is_grad_enabled, Agent())
    kind.__init__ = candidate.keeping(kind.__init__)


def acting(original, gradients, agent):
    epoch_of = state.process.iterators.get

    @standing_for(original)
    def __next__(self):
        source = epoch = None
        try:
            epoch = epoch_of(self)
            if epoch is not None and agent.ready():
                if gradients():
                    agent.count += 1
                    agent.listen()
                    agent.work(self, original)
                elif agent.source is not None:
                    agent.source.aside()
                source = agent.source if gradients() else None
        except Exception as error:
            agent.give_up(error)
        return original(self) if source is None else source.next(epoch.loop, self, original)

    return __next__
