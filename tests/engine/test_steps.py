# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/report/steps: what it says of a module, on a machine whose functions take given steps."""

import contextlib
import io
import pathlib
import runpy
import sys
import tempfile
import types
import unittest
import unittest.mock

TOP = pathlib.Path(__file__).resolve().parents[2]
TABLE = "twa calls - lock it, call leave(lock)\n"
PAIR = ["lock it", "call leave(lock)"]
# What the names of a lock's three loops end with.
LOOPS = {"near_pairs": "8registry3twa10near_pairs$", "far_pairs": "8registry3twa9far_pairs$", "laps": "8registry3twa4laps$"}


class Steps(unittest.TestCase):
    def said(self, table=TABLE, lacks=(), twice=(), calls=("leave", "cond_resched"), steps=(*PAIR, *PAIR), more=(), is_wrong=lambda _: False):
        """The lines, and the loops that ran. A scenario may be `more` than alone, and its run `is_wrong`."""
        ran = []
        self.trials = []
        at = {suffix: loop for loop, suffix in LOOPS.items()}

        def find(suffix):
            return [at[suffix]] * (0 if at[suffix] in lacks else 2 if at[suffix] in twice else 1)

        class Trial:
            fault = None

            def __init__(self, _machine, scenario, function, lock_in, ends, race, at_once):
                ran.append(function)
                self.steps = list(steps)
                self.key = scenario.name, race, at_once
                trials.append((*self.key, lock_in, ends))

            def faults(self):
                return ()

            def otherwise(self, begin, end, writes):
                """What is wrong with a run that was not alone: it is asked about the steps of the table."""
                return [f"{begin} to {end} by {writes}"] if is_wrong(self.key) else []

        trials = self.trials
        alone = types.SimpleNamespace(name="alone", calls=(), contended=False, other=None)
        modules = {
            "machine": types.SimpleNamespace(x86=types.SimpleNamespace(UC_X86_REG_RDI=1, UC_X86_REG_RSI=2), Machine=lambda _: types.SimpleNamespace(
                image=types.SimpleNamespace(find=find), calls=lambda _: set(calls))),
            "shapes": types.SimpleNamespace(SHAPES={"calls": lambda _: [alone, *more]}),
            "trial": types.SimpleNamespace(TELLS=(), Trial=Trial, lock_writes=lambda steps: len(steps))}
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(sys.modules, modules), contextlib.redirect_stdout(out), \
                unittest.mock.patch.object(sys, "argv", ["steps", "module", f"{folder}/traces"]), \
                unittest.mock.patch.object(sys, "stdin", io.StringIO(table)):
            runpy.run_path(str(TOP / "scripts/report/steps"), run_name="__main__")
            self.traces = pathlib.Path(folder, "traces").read_text().splitlines()
        return out.getvalue().splitlines(), ran

    def test_a_lock_of_the_declared_steps(self):
        self.assertEqual(self.said(), ([], list(LOOPS)))

    OTHER = types.SimpleNamespace(name="behind another", calls=("wait",), contended=True, other=True)

    def test_a_race_is_run_at_each_of_its_moments(self):
        lines, ran = self.said(more=[self.OTHER])
        races = [(None, False), *((race, at_once) for race in range(1, 16) for at_once in (False, True))]
        due = [("alone", None, False), *(("behind another", *race) for race in races)]
        self.assertEqual((lines, len(ran)), ([], 3 * len(due)))
        self.assertEqual([trial[:3] for trial in self.trials], 3 * due)
        self.assertEqual([trial[3:] for trial in self.trials], [(register, {PAIR[-1]}) for register in (1, 1, 2) for _ in due])
        steps = ", ".join([*PAIR, *PAIR])
        self.assertEqual(self.traces, [f"twa, {loop}, {name}" + (f", race {race}" if race else "") + at_once * " at once" + f": {steps}"
                                       for loop in LOOPS for name, race, at_once in due])

    def test_what_is_wrong_in_a_race_is_told_once(self):
        lines, _ = self.said(more=[self.OTHER], is_wrong=lambda key: key[1] and key[1] >= 4)
        self.assertEqual(lines, [f"twa: {loop}, behind another, race 4: {PAIR[0]} to {PAIR[1]} by 2" for loop in LOOPS])

    def test_it_wants_a_module_and_a_place(self):
        for words in ([], ["module"], ["module", "traces", "more"]):
            modules = {name: types.SimpleNamespace(x86=unittest.mock.MagicMock(), Machine=0, SHAPES=0, TELLS=0, Trial=0, lock_writes=0)
                       for name in ("machine", "shapes", "trial")}
            with unittest.mock.patch.dict(sys.modules, modules), unittest.mock.patch.object(sys, "argv", ["steps", *words]), \
                    self.assertRaises(SystemExit) as ended:
                runpy.run_path(str(TOP / "scripts/report/steps"), run_name="__main__")
            self.assertEqual(ended.exception.code, "usage: steps MODULE TRACES < TABLE")

    def test_a_loop_that_is_not_there_is_told(self):
        for loop in LOOPS:
            self.assertEqual(self.said(lacks=[loop]), ([f"twa: {loop}: 0 functions"], [it for it in LOOPS if it != loop]))
            self.assertEqual(self.said(twice=[loop]), ([f"twa: {loop}: 2 functions"], [it for it in LOOPS if it != loop]))

    def test_what_is_called_besides_is_told(self):
        self.assertEqual(self.said(calls=("leave", "printk"))[0], [f"twa: {loop}: a path may call printk" for loop in LOOPS])
        self.assertEqual(self.said(table=TABLE.replace(" - ", " print.* "), calls=("leave", "printk"))[0], [])

    def test_other_steps_are_told(self):
        for steps, why in (((*PAIR, PAIR[0]), f"'the end' where '{PAIR[1]}' is due"), (PAIR, f"'the end' where '{PAIR[0]}' is due"),
                           ((PAIR[0], "look", PAIR[1], *PAIR), f"'look' where '{PAIR[1]}' is due, after: {PAIR[0]}"),
                           ((*PAIR, *PAIR, "look"), "'look' where 'the end' is due")):
            lines = self.said(steps=steps)[0]
            self.assertEqual(len(lines), len(LOOPS))
            for line, loop in zip(lines, LOOPS):
                self.assertTrue(line.startswith(f"twa: {loop}, alone: {why}"), line)
        # One of several ways is enough.
        other = "look, " + ", ".join(PAIR)
        self.assertEqual(self.said(table=TABLE + f"twa calls - {other}\n", steps=("look", *PAIR) * 2)[0], [])

    def test_a_shape_that_is_none_is_told(self):
        self.assertEqual(self.said(table="twa ball - a\n"), (["twa: 'ball' is no shape, of calls"], []))
