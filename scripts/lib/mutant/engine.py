# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""The run: every bug goes to the worlds that must find it, several at a time; a line each, in the catalogues' order."""

import concurrent.futures
import contextlib
import io
import os
import sys
import threading
import time

from . import catalogue
from .seen import Seen
from .shell import Shell, read


class Stop(Exception):
    """The run cannot go on: a control failed, or there is nothing to run it with."""


class Engine:
    """What worlds share: the clone, the catalogues, and the planting."""

    def __init__(self, top, catalogues, out=None, err=None, takes_over=False):
        self.shell = Shell(top)
        self.top = self.shell.top
        self.catalogues = catalogues
        self.out, self.err = out or sys.stdout, err or sys.stderr
        # Whether what an earlier run caught on the same files is caught (seen.py).
        self.takes_over = takes_over

    def say(self, text):
        print(f"handover: {text}", file=self.err, flush=True)

    @contextlib.contextmanager
    def planted(self, bug, tree):
        """In `tree`, for so long, stand the bug and those that it builds on."""
        undo = []
        try:
            for one in catalogue.with_base(self.catalogues, bug):
                undo.append(catalogue.plant(one, tree))
            yield
        finally:
            for before in reversed(undo):
                catalogue.unplant(before, tree)

    def copy_with(self, bug, tree, *names):
        """A copy of these folders with the bug in it."""
        path = self.shell.copy(tree, *names)
        for one in catalogue.with_base(self.catalogues, bug):
            catalogue.plant(one, path)
        return path

    def verdict(self, ok, what, why):
        """A line: `ok mutant PART/NAME (why)` or `not ok mutant PART/NAME: why`."""
        return ok, f"ok mutant {what} ({why})" if ok else f"not ok mutant {what}: {why}"

    def hunt(self, world, lane, bug):
        """The lines of a bug in a world, whatever happens there."""
        try:
            lines = world.seen.find(bug, world.catches(bug)) if world.seen else []
            if not lines:
                lines = list(world.hunt(lane, bug, world.catches(bug)))
                if world.seen:
                    world.seen.keep(bug, world.catches(bug), lines)
        except catalogue.Refused as error:
            lines = [self.verdict(False, bug.full, error)]
        except Stop:
            raise
        except Exception as error:  # a world's own fault is no proof that a check finds a bug
            lines = [self.verdict(False, bug.full, f"the engine failed: {type(error).__name__}: {error}")]
        return lines or [self.verdict(False, bug.full, "no world looked at it")]

    def run(self, worlds, bugs):
        """Plants them all; prints the verdicts, a world's after another's. True where each was caught."""
        hunts = []
        for world in worlds:
            names = [bug for bug in bugs if any(one.world in world.names for one in bug.caught)]
            if names:
                hunts.append((world, names))
        with concurrent.futures.ThreadPoolExecutor(max(1, len(hunts))) as pool:
            try:
                beside = []
                for world, names in hunts:
                    if world.beside:
                        out = io.StringIO()
                        beside.append((out, pool.submit(self.run_world, world, names, out)))
                good = all([self.run_world(world, names, self.out) for world, names in hunts if not world.beside])
                for out, found in beside:
                    good = found.result() and good
                    print(out.getvalue(), end="", file=self.out, flush=True)
            except BaseException:
                self.shell.stop()
                raise
        return good

    def tell(self, lines, out):
        for _, line in lines:
            print(line, file=out, flush=True)
        return all(ok for ok, _ in lines)

    def run_world(self, world, bugs, out):
        """One world: what must come first, then its controls and the bugs, in as many lanes as it says."""
        began, done, good = time.monotonic(), 0, True
        told = self.progress(world, len(bugs))
        if self.takes_over and world.reads:
            world.seen = Seen(self.shell, f"build/log/seen-{world.title}", self.catalogues, world.limit, world.reads, world.unread)
        planted = [bug for bug in bugs if not world.seen or not world.seen.has(bug, world.catches(bug))]
        if planted:
            good = self.tell(list(world.begin(planted)), out) and good
        count = max(1, min(world.lanes(), len(bugs)))
        free = list(range(count))
        lock = threading.Lock()

        def one(bug):
            # The signal comes to the main thread, and the worlds beside it hear of the stop here.
            if self.shell.stopped:
                raise Stop("the run was stopped")
            with lock:
                lane = free.pop()
            try:
                return self.hunt(world, lane, bug)
            finally:
                with lock:
                    free.append(lane)

        # As with one lane after another, lines of two are not mixed, and they come in order.
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            controls = pool.submit(lambda: list(world.controls(planted)) if planted else [])
            futures = [pool.submit(one, bug) for bug in world.order(bugs)]
            by_bug = dict(zip((bug.full for bug in world.order(bugs)), futures))
            try:
                good = self.tell(controls.result(), out) and good
                for bug in bugs:
                    lines = by_bug[bug.full].result()
                    done += 1
                    told(done)
                    good = self.tell(lines, out) and good
            except BaseException:
                self.shell.stop()
                for future in futures:
                    future.cancel()
                raise
        if planted:
            good = self.tell(list(world.end(bugs)), out) and good
        if world.seen:
            self.tell(world.seen.told(world.title, bugs), out)
        self.say(f"mutants ({world.title}): {len(bugs)} in {time.monotonic() - began:.0f} s")
        return good

    def progress(self, world, total):
        """A function to be told how many are done: it says so at most every half a minute (each, to a terminal)."""
        began, last = time.monotonic(), [time.monotonic()]
        tty = self.err.isatty()

        def told(done):
            now = time.monotonic()
            if tty or now - last[0] >= 30:
                last[0] = now
                print(f"  {now - began:4.0f} s  {done} of {total} ({world.title})", file=self.err, flush=True)

        return told


class World:
    """A way to build and run a planted bug. `names` are the worlds of `caught` that it serves."""

    title, names = "", ()
    # Whether it goes beside the other worlds: it computes little at a time, and no time limit of its checks is short.
    beside = False
    # What a verdict is a function of, beside the crates: with these files, but for `unread`, an earlier run's are taken over.
    # Without any a bug is planted in each run. The limit is how long a check may take.
    reads, unread, limit = (), (), ""

    def __init__(self, engine):
        self.engine, self.shell, self.top, self.seen = engine, engine.shell, engine.top, None

    def lanes(self):
        """How many at a time: compiling does not sleep."""
        return os.cpu_count() or 1

    def order(self, bugs):
        """The order in which they are begun; the lines come in the catalogues'."""
        return bugs

    def catches(self, bug):
        """What must find it here."""
        return [one for one in bug.caught if one.world in self.names]

    def begin(self, bugs):
        """Controls, which pass on the tree as it is: their verdicts. Raises Stop where nothing else means anything."""
        return []

    def controls(self, bugs):
        """Controls that take a lane beside the bugs: their verdicts."""
        return []

    def hunt(self, lane, bug, catches):
        """The verdicts on a bug, of which `catches` are this world's."""
        raise NotImplementedError

    def end(self, bugs):
        return []

    def verdict(self, ok, what, why):
        return self.engine.verdict(ok, what, why)

    def uncompiled(self, bug, log):
        """The verdict on a bug that does not compile, with the compiler's last words: a log may be gone when they are read."""
        last = " ".join(read(self.top / log).strip().splitlines()[-2:])
        return self.verdict(False, bug.full, f"does not compile: {last}; see {log}")
