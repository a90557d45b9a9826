# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/lib/ratios.py: two sides are the same where each one's median lies within the other's spread."""

import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "scripts/lib"))

import ratios  # noqa: E402

EMPTY = {"bench/contended.csv": "boot,kernel,writers,run,lock,acquisitions,seconds",
         "bench/uncontended-raw.csv": "boot,kernel,layout,run,lock,ns,pairs",
         "bench/rlock-raw.csv": "alignment,round,method,threads,cpus,ns",
         "alock/raw.csv": "round,lock,threads,locks,locality,local_budget,remote_budget,throughput"}


class Sides(unittest.TestCase):
    def side(self, name, boots):
        """A folder with a run a boot: of each lock its acquisitions, beside the kernel's 100."""
        top = self.at / name
        for file, header in EMPTY.items():
            (top / file).parent.mkdir(parents=True, exist_ok=True)
            (top / file).write_text(header + "\n")
        rows = [f"{boot},stock,2,1,{lock},{count},1.0" for boot, counts in enumerate(boots) for lock, count in ({"raw_spin_lock": 100} | counts).items()]
        (top / "bench/contended.csv").write_text("\n".join([EMPTY["bench/contended.csv"], *rows, ""]))
        return str(top)

    def compared(self, before, after):
        with tempfile.TemporaryDirectory() as at, contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as told:
            self.at = pathlib.Path(at)
            code = ratios.main([self.side("before", before), "--", self.side("after", after)])
        return code, out.getvalue().splitlines()[1:], told.getvalue().splitlines()

    def test_a_ratio_is_of_its_run(self):
        """Of pairs by their time, in their own run; and to the greatest of several bases, of that group."""
        with tempfile.TemporaryDirectory() as at:
            self.at = pathlib.Path(at)
            top = pathlib.Path(self.side("one", []))
            (top / "bench/uncontended-raw.csv").write_text("\n".join([EMPTY["bench/uncontended-raw.csv"], *(
                f"{boot},test,far,{run},{lock},{ns * slow},{pairs}" for boot, run, slow in ((1, 1, 1), (1, 2, 7), (2, 1, 30))
                for lock, ns, pairs in (("raw_spin_lock", 100, 10), ("twa", 300, 20))), ""]))
            self.assertEqual(ratios.uncontended(top), {("test", "far", "twa"): [1.5, 1.5, 1.5]})
            self.assertEqual(ratios.contended(top), {})
        each = [{"kept": "k", "group": group, "name": name, "value": value} for group, values in (("1", (6, 2, 3)), ("2", (10, 5, 4)))
                for name, value in zip(("a", "x", "y"), values)]
        self.assertEqual(ratios.ratios(each, ["kept"], ["group"], "name", lambda row: row["value"], ["x", "y"]), {("k", "a"): [2, 2]})

    def of(self, file, *lines):
        """A folder with these rows."""
        top = pathlib.Path(self.side("one", []))
        (top / file).write_text("\n".join([EMPTY[file], *lines, ""]))
        return top

    def test_alock_has_its_first_budgets(self):
        """Beside the better baseline, in the same round."""
        with tempfile.TemporaryDirectory() as at:
            self.at = pathlib.Path(at)
            top = self.of("alock/raw.csv", *(f"{round_},{lock},1,20,95,{budgets},{count * round_}" for lock, budgets, count in (
                ("alock", "5,20", 300), ("rdma_spin", ",", 100), ("rdma_mcs", ",", 60), ("alock", "20,5", 900)) for round_ in (1, 2)))
            self.assertEqual(ratios.alock(top), {("1", "20", "95", "alock"): [3.0, 3.0]})

    def test_increments_are_of_a_place_and_a_round(self):
        """By one thread alone, or by one to more of rlock's."""
        with tempfile.TemporaryDirectory() as at:
            self.at = pathlib.Path(at)
            top = self.of("bench/rlock-raw.csv", *(f"{place},{round_},{method},{threads},{cpus},{ns * 2 ** place * 10 ** round_}"
                                                   for place in (1, 2) for round_ in (1, 2) for method, threads, cpus, ns in (
                ("lock_add", 1, 1, 8), ("rlock", 1, 1, 4), ("lock_add", 2, 2, 5), ("rlock", 2, 2, 6), ("rlock", 2, 1, 12))))
            self.assertEqual(ratios.increments(top), {("rlock",): [0.5] * 4})
            self.assertEqual(ratios.threads(top), {("2 threads, 2 CPUs",): [1.5] * 4, ("2 threads, 1 CPUs",): [3.0] * 4})

    def test_each_ratio_is_its_sides(self):
        with tempfile.TemporaryDirectory() as at, unittest.mock.patch.dict(os.environ, RATIOS_EACH=f"{at}/each.csv"):
            self.compared([{"twa": 90}, {"twa": 110}], [{"twa": 205}])
            each = pathlib.Path(at, "each.csv").read_text().splitlines()
        row = '"writers: 2, stock kernel: twa to raw_spin_lock"'
        self.assertEqual(each, ["row,side,round,ratio", f"{row},before,1,0.9000", f"{row},before,1,1.1000", f"{row},after,1,2.0500"])

    def test_the_same(self):
        code, rows, told = self.compared([{"twa": 90}, {"twa": 110}], [{"twa": 105}, {"twa": 95}])
        self.assertEqual(code, 0)
        self.assertEqual(rows, ['"writers: 2, stock kernel: twa to raw_spin_lock",1.000,1.000,0.900 to 1.100; 0.950 to 1.050'])
        self.assertEqual(told, ["handover: 1 of 1 ratios are the same within their spread"])

    def test_one_that_is_apart(self):
        for after in ([{"twa": 150}], [{"twa": 50}]):
            code, _, told = self.compared([{"twa": 90}, {"twa": 110}], after)
            self.assertEqual(code, 1)
            self.assertEqual(told, ["handover: apart: writers: 2, stock kernel: twa to raw_spin_lock",
                                    "handover: 0 of 1 ratios are the same within their spread"])

    def test_both_medians_lie_in_the_others_spread(self):
        """Here one does, and the other does not."""
        narrow, wide = [{"twa": 90}, {"twa": 110}], [{"twa": 95}, {"twa": 300}]
        for before, after in ((narrow, wide), (wide, narrow)):
            self.assertEqual(self.compared(before, after)[0], 1)

    def test_one_that_a_side_lacks_is_apart(self):
        both, one = [{"twa": 90, "mcs": 80}], [{"twa": 90}]
        for before, after, row in ((both, one, ",0.800,,0.800 to 0.800; "), (one, both, ",,0.800,; 0.800 to 0.800")):
            code, rows, told = self.compared(before, after)
            self.assertEqual(code, 1)
            self.assertEqual([line.partition('"')[2].partition('"')[2] for line in rows if "mcs" in line], [row])
            self.assertEqual(told, ["handover: apart: writers: 2, stock kernel: mcs to raw_spin_lock",
                                    "handover: 1 of 2 ratios are the same within their spread"])

    def test_nothing_is_not_the_same(self):
        self.assertEqual(self.compared([], [])[0], 1)
