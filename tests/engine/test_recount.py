# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/report/recount: it finds each number that is not what its writers make it."""

import pathlib
import random
import runpy
import statistics
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
RECOUNT = runpy.run_path(str(TOP / "scripts/report/recount"))
COLUMNS = ("lock,writers,run,seconds,acquisitions,min,max,failures,owner_failures,counter_failures,order_failures,"
           "progress_failures,wait_failures,deadlock_failures,hung,jain,steal_ns,duration").split(",")


def a_run(lock, run, counts, seconds="1.000123", owner=0, order=0, wait=0, dead=0, jain=None, steal=0):
    """A row of the results and its writers' rows, by plain sums."""
    n, total = len(counts), sum(counts)
    squares = sum(count ** 2 for count in counts)
    # In integers: twice, and half of it at the end, is half up.
    ppm = (2 * 10 ** 6 * total ** 2 + n * squares) // (2 * n * squares) if squares else 0
    row = dict.fromkeys(COLUMNS, "0") | {
        "lock": lock, "writers": str(n), "run": str(run), "seconds": seconds, "acquisitions": str(total),
        "min": str(sorted(counts)[0]), "max": str(sorted(counts)[-1]), "failures": str(n * (owner + order + wait + dead)),
        "owner_failures": str(n * owner), "order_failures": str(n * order), "wait_failures": str(n * wait), "deadlock_failures": str(n * dead), "duration": "1", "steal_ns": str(steal),
        "jain": jain or f"{ppm / 10 ** 6:.6f}"}
    writers = [{"lock": lock, "writers": str(n), "run": str(run), "writer": str(number), "acquisitions": str(count),
                "total": str(count + 7), "owner_failures": str(owner), "order_failures": str(order), "wait_failures": str(wait), "deadlock_failures": str(dead)}
               for number, count in enumerate(counts, 1)]
    return row, writers


def experiment(runs):
    return [row for row, _ in runs], [writer for _, writers in runs for writer in writers]


class Rows(unittest.TestCase):
    def faults(self, runs, summary=None):
        return list(RECOUNT["faults"](*experiment(runs), summary))

    def some(self):
        draw = random.Random(1)
        even = [a_run("twa", 1, [draw.randrange(1, 10 ** 7) for _ in range(5)]), a_run("ticket", 2, [17, 17])]
        worst = a_run("busted", 2, [5, 6], owner=1)
        worst[0].update(counter_failures="3", progress_failures="2", hung="4", failures=str(2 + 3 + 2 + 4))
        return [*even, worst, a_run("twa", 3, [0, 40, 2]), a_run("mcs", 1, [0, 0], owner=0), a_run("busted", 1, [9, 1], owner=3, order=2, wait=5, dead=4),
                a_run("twa", 4, [2 ** 40 + 1, 3])]

    def test_whole_runs_have_no_fault(self):
        self.assertEqual(self.faults(self.some()), [])

    def test_each_number_counts(self):
        """One more in any column of any row, or one less, is found."""
        for index in range(len(self.some())):
            for column in ("acquisitions", "min", "max", "failures", "owner_failures", "order_failures", "counter_failures", "progress_failures",
                           "wait_failures", "deadlock_failures", "hung"):
                for off in (1, -1):
                    runs = self.some()
                    row = runs[index][0]
                    row[column] = str(int(row[column]) + off)
                    self.assertNotEqual(self.faults(runs), [], f"{row['lock']} {row['run']}: {column} by {off}")
            for place in range(len(self.some()[index][1])):
                for column in ("acquisitions", "owner_failures", "order_failures", "wait_failures", "deadlock_failures", "writer"):
                    runs = self.some()
                    writer = runs[index][1][place]
                    writer[column] = str(int(writer[column]) + 1)
                    self.assertNotEqual(self.faults(runs), [], f"{writer}: {column}")

    def test_the_last_digit_of_jain(self):
        # 36 / (4 * 14) is 0.642857 14..., and 64 / (3 * 26) is 0.820512 82...
        self.assertEqual(self.faults([a_run("twa", 1, [1, 2, 3, 0], jain="0.642857"), a_run("twa", 1, [1, 3, 4], jain="0.820513")]), [])
        for jain in ("0.642858", "0.642856", "1.000000", "0.000000"):
            fault = self.faults([a_run("twa", 1, [1, 2, 3, 0], jain=jain)])
            self.assertEqual(fault[0], f"twa 4 1: jain is {jain}, and by its writers 0.642857")

    def test_what_no_run_can_have(self):
        late = a_run("twa", 1, [5, 5], seconds="2.100000")
        self.assertEqual(self.faults([late]), ["twa 2 1: 2.100000 s of 1 s"])
        warm = a_run("twa", 1, [5, 5])
        warm[1][1]["total"] = "4"
        self.assertEqual(self.faults([warm]), ["twa 2 1: writer 2 has 5 acquisitions of 4"])
        warm = a_run("twa", 1, [5, 5])
        warm[1][0]["total"] = "5"
        self.assertEqual(self.faults([warm]), ["twa 2 1: writer 1 has 5 acquisitions of 5"])
        idle = a_run("twa", 1, [5, 0])
        idle[1][1]["total"] = "0"
        self.assertEqual(self.faults([idle]), ["twa 2 1: writer 2 has 0 acquisitions of 0"])
        rows, writers = experiment([a_run("twa", 1, [5, 5]), a_run("mcs", 1, [5, 5])])
        self.assertEqual(list(RECOUNT["faults"](rows[:1], writers)), ["mcs 2 1: writers of no run"])
        self.assertEqual(list(RECOUNT["faults"](rows, writers[:2])), ["mcs 2 1: its writers are , and not 1 to 2"])

    def test_each_fault_is_said(self):
        bad = a_run("twa", 1, [5, 5])
        bad[0].update(acquisitions="99", jain="0.300000")
        self.assertEqual(self.faults([bad]), ["twa 2 1: acquisitions is 99, and by its writers 10", "twa 2 1: jain is 0.300000, and by its writers 1.000000",
                                              "twa 2 1: 2 writers with 5 to 5 cannot have 99", "twa 2 1: jain of 2 writers is 0.300000"])
        bad[0].update(acquisitions="10", jain="1.000001")
        self.assertIn("twa 2 1: jain of 2 writers is 1.000001", self.faults([bad]))
        # One writer alone has all, or all have the same: both are possible.
        self.assertEqual(self.faults([a_run("twa", 1, [7, 0, 0]), a_run("twa", 2, [7, 7, 7])]), [])
        # A writer that hangs has none after the warm-up, and a run may end as late as it may.
        hangs = a_run("twa", 1, [5, 0])
        hangs[0].update(hung="1", failures="1")
        hangs[1][1]["total"] = "0"
        self.assertEqual(self.faults([hangs, a_run("twa", 2, [5, 5], seconds="2.000000")]), [])
        text = self.SUMMARY.replace(" 300 ", " 301 ").replace("time: 3", "time: 2")
        self.assertEqual(self.faults(self.rows(), text.replace("0.33        2", "0.33        0").splitlines()), [
            "the table has twa 2 3 301 100 1000 1.50 4.00 0.74 0", "the table lacks twa 2 3 300 100 1000 1.50 4.00 0.74 0",
            "steal time: 2 ms, and by the rows 3 ms"])

    def test_medians_of_any_number(self):
        draw = random.Random(2)
        for many in range(1, 12):
            numbers = [draw.randrange(1000) for _ in range(many)]
            self.assertEqual(RECOUNT["middle"](numbers), int(statistics.median(numbers)), numbers)
        self.assertEqual(RECOUNT["per_second"]({"seconds": "0.000000", "acquisitions": "5"}), 0)

    def test_a_lock_that_lacks_a_point_has_no_line_there(self):
        runs = [a_run(lock, 1, [6] * n, "1.000000") for n, lock in ((1, "twa"), (1, "mcs"), (1, "spin_lock"), (2, "twa"), (2, "spin_lock"))]
        self.assertEqual([line[:4] for line in RECOUNT["the_table"](experiment(runs)[0])],
                         [["twa", "1", "1", "6"], ["mcs", "1", "1", "6"], ["spin_lock", "1", "1", "6"], ["twa", "2", "1", "12"], ["spin_lock", "2", "1", "12"]])

    # By hand, of the rows below.
    SUMMARY = """kernel=7 cpus=2
lock           writers runs     median/s        min/s        max/s  ratio  max/min   Jain failures
twa                  2    3          300          100         1000   1.50     4.00   0.74        0
spin_lock            2    3          200          200          400   1.00     1.00   1.00        0
twa                  3    2          150          100          200      -        -   0.33        2
steal time: 3 ms
median, min and max over the runs"""

    def rows(self):
        return [a_run("twa", 1, [50, 50], "1.000000", steal=1_999_999), a_run("spin_lock", 1, [100, 100], "1.000000", steal=2_000_000),
                a_run("twa", 1, [40, 30, 30], "1.000000"),
                a_run("twa", 2, [120, 30], "0.500000"), a_run("spin_lock", 2, [50, 50], "0.500000"),
                a_run("twa", 2, [0, 200, 0], "1.000000"), a_run("twa", 3, [500, 500], "1.000000"), a_run("spin_lock", 3, [200, 200], "1.000000")]

    def test_the_table(self):
        rows = self.rows()
        rows[2][0]["failures"] = rows[2][0]["counter_failures"] = "2"
        self.assertEqual(self.faults(rows, self.SUMMARY.splitlines()), [])
        for old, new in ((" 300 ", " 301 "), (" 4.00 ", " 4.01 "), ("0.74", "0.73"), ("      2\n", "      1\n"), ("1.50", "1.51"),
                         ("-        -", "0.00     -"), ("time: 3", "time: 2"), ("spin_lock    ", "raw_spin_lock"),
                         ("lock           writers runs", "no table")):
            summary = self.SUMMARY.replace(old, new)
            self.assertNotEqual(summary, self.SUMMARY, old)
            self.assertNotEqual(self.faults(rows, summary.splitlines()), [], f"{old} for {new}")
        # A table of times is no second one.
        times = "lock           writers     what        count     mean ns\ntwa                  2     wait          400          17"
        self.assertEqual(self.faults(rows, [*self.SUMMARY.splitlines(), *times.splitlines()]), [])
        self.assertEqual(self.faults(rows, 2 * self.SUMMARY.splitlines()), ["2 tables"])
        twice = self.SUMMARY.replace("steal", self.SUMMARY.splitlines()[2] + "\nsteal")
        self.assertEqual(self.faults(rows, twice.splitlines()), ["the table has 4 lines, and not 3"])
