# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/report/calibration: each figure is that of its rounds."""

import contextlib
import csv
import io
import pathlib
import random
import runpy
import sys
import tempfile
import unittest
import unittest.mock

TOP = pathlib.Path(__file__).resolve().parents[2]
CALIBRATION = runpy.run_path(str(TOP / "scripts/report/calibration"))


def row(count, harness, point, seconds, acquisitions, same="steps", times=1):
    writers, inside, outside = point
    return {"round": str(count), "harness": harness, "same": same, "writers": str(writers), "cs_steps": str(inside),
            "ncs_steps": str(outside), "times": str(times), "seconds": f"{seconds:.6f}", "acquisitions": str(acquisitions)}


def lines(rows):
    return list(CALIBRATION["lines"](rows))


class Calibration(unittest.TestCase):
    def test_a_table_by_hand(self):
        one, two = (1, 0, 0), (2, 20, 400)
        rows = [row(1, "handover", one, 2, 300), row(1, "locktorture", one, 1, 100),
                row(1, "locktorture", two, 1, 100), row(1, "handover", two, 1, 90),
                row(2, "locktorture", one, 4, 400), row(2, "handover", one, 1, 400),
                row(2, "handover", two, 1, 300), row(2, "locktorture", two, 1, 100),
                row(3, "handover", one, 1, 200), row(3, "locktorture", one, 1, 100)]
        # The middle ratio is not the middle rates'.
        for count, ours, theirs in ((1, 100, 200), (2, 300, 100), (3, 200, 300)):
            rows += [row(count, "handover", (4, 1, 9), 1, ours), row(count, "locktorture", (4, 1, 9), 1, theirs)]
        # The same point with as much time is another.
        for count, times, ours in ((1, 18.25, 90), (2, 11, 100), (3, 16.5, 120)):
            rows += [row(count, "handover", two, 1, ours, "time", times), row(count, "locktorture", two, 1, 100, "time", times)]
        self.assertEqual(lines(rows), [
            "calibration   same  writers cs_steps ncs_steps times rounds    ours/s  theirs/s  ratio   min   max",
            "raw_spin_lock steps       1        0         0  1.00      3       200       100   2.00  1.50  4.00",
            "raw_spin_lock steps       2       20       400  1.00      2       195       100   1.95  0.90  3.00",
            "raw_spin_lock steps       4        1         9  1.00      3       200       200   0.67  0.50  3.00",
            "raw_spin_lock time        2       20       400 16.50      3       100       100   1.00  0.90  1.20"])

    def test_the_order_of_a_rounds_rows_is_nothing(self):
        draw = random.Random(2)
        rows = [row(count, harness, (1, 20, 400), draw.uniform(1, 3), draw.randrange(10 ** 6, 10 ** 7))
                for count in range(1, 8) for harness in ("handover", "locktorture")]
        due = lines(rows)
        for _ in range(5):
            draw.shuffle(rows)
            self.assertEqual(lines(rows), due)

    def test_a_ratio_is_of_one_round(self):
        """The machine may be twice as fast in one round as in another: the ratios stay."""
        rows = []
        for count, fast in enumerate((1, 2, 8, 16, 3), 1):
            rows += [row(count, "handover", (4, 20, 400), 1, 1100 * fast), row(count, "locktorture", (4, 20, 400), 1, 1000 * fast)]
        self.assertEqual(lines(rows)[1].split()[-3:], ["1.10", "1.10", "1.10"])

    def test_a_round_has_both(self):
        rows = [row(1, "handover", (1, 0, 0), 1, 5), row(1, "locktorture", (1, 0, 0), 1, 5), row(2, "handover", (1, 0, 0), 1, 5)]
        with self.assertRaises(KeyError):
            lines(rows)
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            for given, code in ((rows, f"calibration: {file.name}: a round or row lacks 'locktorture'"), (rows[:2], None)):
                file.seek(0)
                file.truncate()
                table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
                table.writeheader()
                table.writerows(given)
                file.flush()
                out = io.StringIO()
                with unittest.mock.patch.object(sys, "argv", ["calibration", file.name]), contextlib.redirect_stdout(out):
                    try:
                        runpy.run_path(str(TOP / "scripts/report/calibration"), run_name="__main__")
                        self.assertIsNone(code)
                        self.assertEqual(out.getvalue().splitlines(), lines(given))
                    except SystemExit as end:
                        self.assertEqual(end.code, code)
