"""One library doing one thing, timed in rounds until its time is known well enough."""

import math
import re
import time

clock = time.perf_counter

ROUND_SECONDS = 0.02  # a round lasts about so long: 200 rounds in 4 s, and the clock's 0.1 us do not count
CHUNK_BYTES = 64 << 20  # of encoded items held in memory for one round
LEAST_ROUNDS, MOST_ROUNDS = 10, 200
# of the interval; below the 5 % that is asked for, because the one made of the rounds afterwards is somewhat wider
PRECISION = 0.04
LONG_SECONDS = 0.1  # a first round of so long is not made again when the time is up
MOST_REASONS = 4  # told of why items could not be read, the commonest first
BATCH = 32  # of a collate when the person names no batch size


class Subject:
    """One library doing one thing.

    prepare makes of an item what one is called with, off the clock; one does the work that is timed. weight is what an
    item counts for. alone says that it and the others would disturb each other, and that it waits until they are done.
    tells says that one returns the seconds that count.

    Items are held until a batch of them is there, as a worker of the DataLoader does before it collates them. That
    matters: memory which is new to the process costs a page fault per 4 KiB, and JPEG of 500 x 375 pixels takes 2.4 ms
    so, 1.3 ms where each array is dropped at once (Pillow 9.4, a virtual machine; a DataLoader with one worker needs
    3.2 ms, its collate included).
    """

    most_held = 256 << 20  # bytes of decoded items held as a batch; less where memory is short

    def __init__(self, metric, labels, items, one, prepare=None, weight=1, alone=False, tells=False):
        self.metric, self.labels, self.one, self.prepare, self.weight = metric, labels, one, prepare, weight
        self.alone, self.tells = alone, tells
        self.hold, self.held = (BATCH if metric == "item_time_s" and not tells else 1), []
        self.items, self.at, self.chunk, self.warm = list(items), 0, 1, False
        self.rounds, self.failed = [], {}  # by reason, its figures left out: how many, and the first in full
        self.number = None

    def take(self):
        out = []
        held = 0
        while self.items and len(out) < self.chunk and held < min(CHUNK_BYTES, self.most_held):
            item = self.items[self.at % len(self.items)]
            try:
                ready = self.prepare(item) if self.prepare else item
            except Exception as e:
                self.drop(item, e)
                continue
            held += len(ready[1]) if isinstance(ready, tuple) and isinstance(ready[1], bytes) else 0
            self.at += 1
            out.append((item, ready))
        return out

    def drop(self, item, e):
        self.items.remove(item)
        reason = first_line(e)
        kind = re.sub("[0-9]+", "#", reason)
        count, first = self.failed.get(kind, (0, reason))
        self.failed[kind] = count + 1, first

    def round(self, until):
        """One timed round, as (units, seconds), or None when it does not count. Where the time is up by its end, it
        counts in any case."""
        begins = self.at
        taken = self.take()
        if not taken:
            return None
        one, item, told = self.one, None, 0.0
        groups = [taken[i : i + self.hold] for i in range(0, len(taken), self.hold)]
        held, room = self.held, self.hold
        try:
            began = clock()
            for group in groups:
                if len(held) >= room:
                    held.clear()  # as a worker does once a batch is collated
                for item, ready in group:
                    if self.tells:
                        told += one(ready)
                    elif room > 1:
                        held.append(one(ready))  # and no other name for it, which would keep the heap from shrinking
                    else:
                        one(ready)
            seconds = clock() - began
        except Exception as e:
            self.drop(item, e)
            self.at = (
                begins  # the good ones before it come again: all at once, where every second is damaged, was never
            )
            return None
        if held and self.hold > 1:
            self.hold = max(1, min(BATCH, self.most_held // max(1, getattr(held[0], "nbytes", 1))))
        late = clock() >= until
        if not self.warm:
            self.warm = True  # the first of all rounds loads code and fills caches
            if not late or seconds < LONG_SECONDS:
                return None
        if seconds < ROUND_SECONDS / 2 and not late and self.chunk < 4096:
            self.chunk *= 2  # too short to time well
            if not self.rounds:
                return None
        return len(taken) * self.weight, told if self.tells else seconds

    def known(self):
        """Whether the time per unit is known well enough."""
        n = len(self.rounds)
        if n < LEAST_ROUNDS:
            return False
        if n >= MOST_ROUNDS:
            return True
        units = sum(u for u, _ in self.rounds)
        rate = sum(s for _, s in self.rounds) / units
        spread = sum((s - rate * u) ** 2 for u, s in self.rounds) / (n - 1)
        return 2.3 * math.sqrt(spread * n) / units <= PRECISION * rate


def run(out, subjects, until):
    """Times all subjects, those that want to be alone last, one after the other, each for its share of the time."""
    groups = [[s for s in subjects if not s.alone]] + [[s] for s in subjects if s.alone]
    left = len(subjects)
    for group in groups:
        for s in group:
            s.number = run.count
            run.count += 1
            answer(out, {"subject": s.number, "metric": s.metric, "labels": s.labels})
        go_round(out, group, clock() + max(0, until - clock()) * len(group) / max(1, left))
        left -= len(group)
        for s in group:
            s.held.clear()


def go_round(out, subjects, until):
    """Goes round the subjects, one round each, so that what drifts meets all alike, until all are known or the time is
    up. Each gets one round that counts in any case."""
    left = list(subjects)
    while left:
        for s in list(left):
            if s.rounds and (clock() >= until or s.known()) or not s.items:
                left.remove(s)
                continue
            got = s.round(until)
            if got:
                s.rounds.append(got)
                answer(out, {"round": s.number, "units": got[0], "seconds": got[1]})
    for s in subjects:
        of = sum(count for count, _ in s.failed.values()) + len(s.items)
        for count, reason in sorted(s.failed.values(), reverse=True)[:MOST_REASONS]:
            answer(out, {"failed": s.number, "count": count, "of": of, "reason": reason})


run.count = 0
