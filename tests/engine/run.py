# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""run.py [TEST...] : the tests of the scripts beside this, a verdict a line."""

import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
os.environ.pop("PYTHONHOME", None)
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts/lib")]


class Lines(unittest.TestResult):
    def addSuccess(self, test):
        print(f"ok engine {test.id()}", flush=True)

    def tell(self, test, error):
        why = str(error[1]).strip().splitlines() or [error[0].__name__]
        print(f"not ok engine {test.id()}: {error[0].__name__}: {why[0][:300]}", flush=True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.tell(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self.tell(test, error)


loader = unittest.TestLoader()
suite = loader.loadTestsFromNames(sys.argv[1:]) if sys.argv[1:] else loader.discover(str(HERE), "test_*.py")
result = suite.run(Lines())
sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)
