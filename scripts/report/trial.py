# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""A scenario of shapes.py, run on one function in the machine, and what is wrong with it whatever the lock is."""

import re

from machine import ME, OTHER

OTHERS = "(the other CPU writes)"


def is_write(step):
    return not re.match(r"load|pause|call|.fence|\(", step)


def lock_writes(steps):
    return [step for step in steps if is_write(step) and " lock+" in step]


TELLS = (r"contention_begin\(lock\)", r"contention_end\(lock\)")  # a lock of ours that waits


class Trial:
    """`steps` are what the function did, up to one of the steps `last`. In a race the other CPU waits for nothing from the
    step `race` on: it goes on with each step, or all the way at once."""

    def __init__(self, m, scenario, function, lock_in, last, race=None, at_once=False):
        self.m, self.scenario, self.last, self.race, self.at_once = m, scenario, last, race, at_once
        self.found, self.had, self.over, self.pairs = [], False, None, 0
        self.other = scenario.other() if scenario.other else iter(())
        self.wanted = next(self.other, None)
        self.fault = m.run(function, lock_in, scenario.words, self.seen)
        self.steps = [step for step, _ in self.found]
        self.pools = m.read(m.pool(ME)), m.read(m.pool(OTHER))

    def seen(self, step, address):
        """Called with each step. Returns whether it is the last."""
        self.found.append((step, address))
        self.had |= is_write(step) and " lock+0" in step
        if self.over is None and self.had and is_write(step) and self.scenario.is_over():
            self.over = len(self.found)
        before, now = self.m.writes, self.race is not None and len(self.found) >= self.race
        if self.wanted and (now and self.wanted[0] != "!" or re.fullmatch(self.wanted.lstrip("!"), step)):
            self.wanted = next(self.other, None)
            while now and self.at_once and self.wanted == "pause":
                self.wanted = next(self.other, None)
            self.found += [(OTHERS, 0)] if self.m.writes != before else []
        self.pairs += step in self.last
        return self.pairs == self.scenario.pairs

    def faults(self):
        at_slots = [(step, address) for step, address in self.found if step.endswith(" slot")]
        looked = {address for step, address in at_slots if step == "load slot"}
        if not looked <= {self.m.slot(ticket) for ticket in self.scenario.looks}:
            yield "it waits in another ticket's slot"
        if self.fault:
            yield f"{self.fault}, after: {', '.join(self.steps[-8:])}"
            return
        yield from self.waiting()
        if self.over is None and self.scenario.is_over:
            yield "the lock is not handed over"
        elif self.scenario.pairs == 1:
            yield from (f"'{step}' after the hand-over" for step in self.steps[self.over:] if " lock+" in step)
        yield from (f"'{step}' where it may load or increment" for step, _ in at_slots if step not in ("load slot", "inc slot"))
        notified = [address for step, address in at_slots if step == "inc slot"]
        if notified != [self.m.slot(ticket) for ticket in self.scenario.notifies]:
            yield f"it notifies {len(notified)} slots, not those of tickets: {' '.join(map(hex, self.scenario.notifies)) or 'none'}"
        if self.pools != self.scenario.pools:
            yield f"a node is not given back: the pools hold {self.pools[0]:#x} and {self.pools[1]:#x} in the end"

    def waiting(self):
        """Between the first pause and the last there are loads alone. Between two pauses each word is loaded once, unless the
        other CPU wrote: then a waiter looks, looks again for what to wait for, and looks first when it waits."""
        pauses = [at for at, step in enumerate(self.steps) if step == "pause"] + [len(self.steps)]
        polled = []
        for begin, end in zip(pauses, pauses[1:]):
            between = [step for step in self.steps[begin + 1:end] if step != OTHERS]
            if between and between[0].removeprefix("load ") != (polled or [None])[-1]:
                polled.append(between[0].removeprefix("load "))
            if end == len(self.steps):
                break
            most = 1 if len(between) == end - begin - 1 else 3
            for step in sorted(set(between)):
                if not step.startswith("load "):
                    yield from () if self.scenario.tries and most > 1 else [f"'{step}' while it waits"]
                elif between.count(step) > most:
                    yield f"'{step}' {between.count(step)} times without a pause"
        if self.race is None and tuple(polled) != self.scenario.waits:
            yield f"it polls {' and '.join(polled) or 'nothing'}, not {' and '.join(self.scenario.waits) or 'nothing'}"

    def untold(self):
        """Whoever listens to the kernel's events sees all of a wait, and no more. After it is told of the end, an unlock may wait."""
        begin, end = ([at for at, step in enumerate(self.steps) if re.fullmatch(f"call {name}", step)] for name in TELLS)
        pauses = [at for at, step in enumerate(self.steps) if step == "pause"]
        if self.scenario.contended and any(not begin or at < begin[0] for at in pauses):
            yield "it waits before it tells of contention"
        if end and not self.scenario.awaits_successor and any(at > end[0] for at in pauses):
            yield "it waits after it told of contention's end"

    def otherwise(self, first, last, writes):
        """What is wrong with the calls and, unless it is a race, with what is written to the lock's words."""
        calls = [step for step in self.steps if step.startswith("call ")]
        told = [f"call {name}" for name in TELLS if self.scenario.contended]
        due = [[re.escape(first), *told, *(f"call {name}" for name in self.scenario.calls), re.escape(last)]]
        # In a race it may find the lock handed over at its first look.
        due += [[step for step in due[0] if step not in told]] if self.race is not None else []
        if not any(re.fullmatch(", ".join(way), ", ".join(calls)) for way in due):
            yield f"it calls otherwise: {', '.join(calls)}"
        yield from self.untold()
        writes, found = self.scenario.writes or writes, lock_writes(self.steps)
        if self.race is None and found != list(writes):
            yield f"it writes {', '.join(found)} to the lock, not {', '.join(writes)}"
