# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/lib/tsc.py: the rate of a counter that a test makes, and of the machine's own."""

import contextlib
import io
import pathlib
import random
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "scripts/lib"))
import tsc  # noqa: E402


class Machine:
    """One whose counter has `rate` ticks a nanosecond. A look is interrupted in two of three cases, for up to 10 ms."""

    def __init__(self, rate, seed):
        self.rate, self.ns, self.slept = rate, 5_000_000, 0
        self.random = random.Random(seed)

    def passes(self):
        self.ns += 30
        if self.random.random() < 0.3:
            self.ns += self.random.randrange(1000, 10_000_000)

    def ticks(self):
        self.passes()
        return int(7_000_000_000 + self.ns * self.rate)

    def clock(self):
        self.passes()
        return self.ns

    def sleep(self, seconds):
        self.slept += seconds
        self.ns += int(seconds * 1e9)


class Script(unittest.TestCase):
    def test_it_prints_the_rate(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            runpy.run_path(str(TOP / "scripts/lib/tsc.py"), run_name="__main__")
        self.assertRegex(said.getvalue(), r"^[0-9]+\n$")
        self.assertLess(abs(int(said.getvalue()) / tsc.khz(tsc.counter(), time.monotonic_ns, time.sleep) - 1), 0.01)

    def test_the_door_runs_it(self):
        with tempfile.TemporaryDirectory() as at:
            for name in ("scripts/guest/tsc-khz", "scripts/lib/env.sh"):
                (pathlib.Path(at) / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(TOP / name, pathlib.Path(at) / name)
            python = pathlib.Path(at) / "scripts/lib/python"
            python.write_text("#!/bin/sh\necho python $*\n")
            python.chmod(0o755)
            said = subprocess.run([f"{at}/scripts/guest/tsc-khz"], check=True, text=True, stdout=subprocess.PIPE).stdout
            self.assertEqual(said, f"python {at}/scripts/lib/tsc.py\n")


class Rate(unittest.TestCase):
    def test_looks_that_were_interrupted_do_not_count(self):
        for seed in range(200):
            machine = Machine(random.Random(seed).uniform(0.4, 6), seed)
            measured = tsc.khz(machine.ticks, machine.clock, machine.sleep)
            self.assertLess(abs(measured / (machine.rate * 1e6) - 1), 1e-5, f"seed {seed}")
            self.assertGreaterEqual(machine.slept, 0.1)

    def test_this_machines_is_found_again(self):
        """By other code: from looks before and after all measurements, whenever between two times of the clock they were."""
        read = tsc.counter()
        self.assertGreater(read(), 1 << 32)  # all of it: a machine that has run for ten seconds
        clock = time.monotonic_ns
        first, ticks_0, second = clock(), read(), clock()
        rates = [tsc.khz(read, clock, time.sleep) for _ in range(5)]
        third, ticks_1, fourth = clock(), read(), clock()
        least, most = ((ticks_1 - ticks_0) * 1e6 / ns for ns in (fourth - first, third - second))
        for rate in rates:
            self.assertTrue(0.999 * least < rate < 1.001 * most, (least, rates, most))
