# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/report/trial.py: what is wrong with a function's steps, on a machine that takes given ones."""

import contextlib
import itertools
import pathlib
import sys
import types
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
ME, OTHER = 1, 0


@contextlib.contextmanager
def trial_module():
    """trial.py, without the emulator that its machine needs."""
    before = sys.modules.get("machine")
    sys.modules["machine"] = types.SimpleNamespace(ME=ME, OTHER=OTHER)
    sys.path.insert(0, str(TOP / "scripts/report"))
    try:
        import trial
        yield trial
    finally:
        sys.path.pop(0)
        if before is None:
            del sys.modules["machine"]
        else:
            sys.modules["machine"] = before


class Machine:
    """Takes the steps, whatever the function is."""

    def __init__(self, steps, pools=(0xffff, 0xffff)):
        self.steps, self.pools, self.writes, self.words = steps, pools, 0, {}

    def run(self, _function, _lock_in, _words, seen):
        for step, address in self.steps:
            if seen(step, address):
                return None
        return "it returns too early"

    def pool(self, cpu):
        return cpu

    def read(self, address):
        return self.pools[address]

    def slot(self, ticket):
        return 0x1000 + ticket


def scenario(**changed):
    """A lock whose waiter polls its second word. Its release is the second write, a store. Then it notifies the slot of ticket
    3."""
    writes = itertools.count()
    return types.SimpleNamespace(**{
        "words": {}, "other": None, "is_over": lambda: next(writes) > 0, "pairs": 1, "looks": (), "notifies": (3,), "pools": (0xffff, 0xffff),
        "waits": ("lock+4",), "tries": False, "calls": (), "writes": None, "contended": False, "awaits_successor": False, **changed})


GOOD = ["call preempt_disable", "xadd lock+0", "load lock+4", "pause", "load lock+4", "pause", "load lock+4", "store lock+4",
        ("inc slot", 0x1003), "call preempt_enable"]
BEGIN, END = "call contention_begin(lock)", "call contention_end(lock)"
TOLD = GOOD[:3] + [BEGIN] + GOOD[3:7] + [END] + GOOD[7:]


class Trial(unittest.TestCase):
    def faults(self, steps, pools=(0xffff, 0xffff), race=None, **changed):
        with trial_module() as trial:
            steps = [step if isinstance(step, tuple) else (step, 0) for step in steps]
            one = trial.Trial(Machine(steps, pools), scenario(**changed), 0, 0, ("call preempt_enable",), race)
            return [*one.faults(), *one.otherwise("call preempt_disable", "call preempt_enable", ("xadd lock+0", "store lock+4"))]

    def with_step(self, at, *steps):
        return GOOD[:at] + list(steps) + GOOD[at:]

    def test_what_is_right(self):
        self.assertEqual(self.faults(GOOD), [])

    def one(self, why, steps, **changed):
        found = self.faults(steps, **changed)
        self.assertTrue(any(why in one for one in found), f"{why} is not among {found}")

    def test_a_word_twice_without_a_pause(self):
        self.one("'load lock+4' 2 times without a pause", self.with_step(5, "load lock+4"))

    def test_a_write_while_it_waits(self):
        self.one("'cmpxchg lock+4' while it waits", self.with_step(5, "cmpxchg lock+4"))

    def test_another_word_is_polled(self):
        self.one("it polls lock+0 and lock+4, not lock+4", GOOD[:4] + ["load lock+0", "pause"] + GOOD[4:])

    def test_nothing_is_polled(self):
        self.one("it polls nothing, not lock+4", [step for step in GOOD if step != "pause"])

    def test_a_write_more(self):
        self.one("it writes xadd lock+0, store lock+4, store lock+4 to the lock", self.with_step(7, "store lock+4"))

    def test_another_write(self):
        self.one("it writes xadd lock+0, rmw lock+4 to the lock", ["rmw lock+4" if step == "store lock+4" else step for step in GOOD])

    def test_a_slot_notified_twice(self):
        self.one("it notifies 2 slots", self.with_step(8, ("inc slot", 0x1003)))

    def test_another_slot_notified(self):
        self.one("it notifies 1 slots, not those", GOOD[:8] + [("inc slot", 0x1004)] + GOOD[9:])

    def test_no_slot_notified(self):
        self.one("it notifies 0 slots", GOOD[:8] + GOOD[9:])

    def test_a_slot_that_is_stored_to(self):
        self.one("'store slot' where it may load or increment", self.with_step(8, ("store slot", 0x1003)))

    def test_another_tickets_slot(self):
        self.one("it waits in another ticket's slot", self.with_step(3, ("load slot", 0x1005)))
        self.assertNotIn("it waits in another ticket's slot", self.faults(self.with_step(3, ("load slot", 0x1005)), looks=(5,)))

    def test_the_lock_after_the_hand_over(self):
        self.one("'load lock+4' after the hand-over", self.with_step(9, "load lock+4"))

    def test_the_first_step_after_the_hand_over(self):
        self.one("'load lock+4' after the hand-over", self.with_step(8, "load lock+4"))

    def test_no_hand_over(self):
        self.one("the lock is not handed over", GOOD, is_over=lambda: False)

    def test_a_node_that_is_kept(self):
        found = self.faults(GOOD, pools=(0xffff, 0xfffe))
        self.assertEqual(found, ["a node is not given back: the pools hold 0xfffe and 0xffff in the end"])
        found = self.faults(GOOD, pools=(0xfffe, 0xffff))
        self.assertEqual(found, ["a node is not given back: the pools hold 0xffff and 0xfffe in the end"])

    def test_other_calls(self):
        self.one("it calls otherwise", self.with_step(3, "call helper"))
        self.assertEqual(self.faults(self.with_step(3, "call helper"), calls=("helper",)), [])

    def test_contention_that_is_told(self):
        self.assertEqual(self.faults(TOLD, contended=True), [])
        self.one("it calls otherwise", GOOD, contended=True)
        self.one("it calls otherwise", TOLD)

    def test_contention_of_another_lock(self):
        self.one("it calls otherwise", [step.removesuffix("(lock)") if step == BEGIN else step for step in TOLD], contended=True)

    def test_a_wait_before_it_is_told(self):
        self.one("it waits before it tells", GOOD[:4] + [BEGIN] + GOOD[4:7] + [END] + GOOD[7:], contended=True)

    def test_a_wait_after_the_end(self):
        early = GOOD[:2] + [BEGIN, GOOD[2], END] + GOOD[3:]
        self.one("it waits after it told", early, contended=True)
        self.assertEqual(self.faults(early, contended=True, awaits_successor=True), [])

    def where(self, *waits, race=None, at_once=False):
        """After which steps the other CPU is seen to write, which waits for these and writes after each; and how often it wrote."""
        with trial_module() as trial:
            machine = Machine([step if isinstance(step, tuple) else (step, 0) for step in GOOD])

            def other():
                for step in waits:
                    yield step
                    machine.writes += 1
            one = trial.Trial(machine, scenario(other=other), 0, 0, ("call preempt_enable",), race, at_once)
            seen = [at - one.steps[:at].count(trial.OTHERS) for at, step in enumerate(one.steps) if step == trial.OTHERS]
            return seen, machine.writes

    def test_the_other_cpu_goes_on_where_it_is_due(self):
        # The pauses are the fourth step and the sixth.
        self.assertEqual(self.where("pause", "pause"), ([4, 6], 2))
        self.assertEqual(self.where("pause", "inc slot"), ([4, 9], 2))
        for race in (1, 2, 3):
            self.assertEqual(self.where("pause", "pause", "pause", race=race), ([race, race + 1, race + 2], 3))
            self.assertEqual(self.where("pause", "pause", "pause", race=race, at_once=True), ([race], 3))
        # A moment after its pauses changes nothing of them.
        self.assertEqual(self.where("pause", "pause", race=9), ([4, 6], 2))
        # What it must wait for, it waits for.
        self.assertEqual(self.where("!pause", "pause", race=1), ([4, 5], 2))
        self.assertEqual(self.where("!inc slot", race=1, at_once=True), ([9], 1))

    def test_a_race_without_contention(self):
        free = [step for step in GOOD if step != "pause"]
        self.assertNotIn("it calls otherwise", " ".join(self.faults(free, race=1, contended=True)))
        self.one("it waits before it tells", GOOD, race=1, contended=True)
        self.one("it calls otherwise", GOOD[:3] + [BEGIN] + GOOD[3:], race=1, contended=True)

    def test_no_end(self):
        self.one("it returns too early, after:", GOOD[:-1])
