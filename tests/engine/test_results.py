# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""The tables on the pages of docs/results are those of the data beside them, computed here anew."""

import contextlib
import csv
import io
import pathlib
import re
import runpy
import sys
import unittest
import unittest.mock
from statistics import median

TOP = pathlib.Path(__file__).resolve().parents[2]
RESULTS = TOP / "docs/results"


def rows(name):
    with open(RESULTS / "data" / name, newline="") as file:
        return list(csv.DictReader(file))


def by(rows, key, value):
    """{key: [values in the order of the rows]}"""
    found = {}
    for row in rows:
        found.setdefault(key(row), []).append(value(row))
    return found


class Page(unittest.TestCase):
    """A page of which each row of numbers is compared."""

    def lines(self, page, pattern):
        """The matches of the pattern with a whole line of the page."""
        text = (RESULTS / page).read_text().splitlines()
        return [found for found in (re.fullmatch(pattern, line) for line in text) if found]

    def same(self, said, due, what):
        """The printed number is the due one, rounded to as many decimals."""
        decimals = len(said.partition(".")[2])
        self.assertLessEqual(abs(float(said) - due), 0.5001 * 10 ** -decimals, f"{what}: {said}, and not {due:.4f}")


class Kernel(Page):
    def test_the_tables_as_printed(self):
        printed = io.StringIO()
        command = [str(TOP / "scripts/report/bench-table"), "--of", str(RESULTS / "data")]
        with unittest.mock.patch.object(sys, "argv", command), contextlib.redirect_stdout(printed):
            runpy.run_path(command[0], run_name="__main__")
        page = (RESULTS / "kernel.md").read_text()
        for table in re.split(r"^(?=contended)", printed.getvalue(), flags=re.MULTILINE):
            self.assertIn(f"```\n{table}```\n", page)

    def test_the_summary_is_the_tables(self):
        lines = self.lines("kernel.md", r"(\w+) +(stock|test)" + r" +(\d+\.\d+)" * 5)
        said = {(line[2], line[1]): line.groups()[2:] for line in lines}
        for row in rows("uncontended.csv"):
            due = [row[name] for name in ("ns", "ratio", "ratio_min", "ratio_max", "ratio_binding")]
            for one, figure in zip(said.pop((row["kernel"], row["lock"])), due):
                self.same(one, float(figure), str(row))
        self.assertEqual(said, {})

    def test_the_uncontended_pair(self):
        runs = by(rows("uncontended-raw.csv"), lambda row: (row["kernel"], row["boot"], row["run"]),
                  lambda row: (row["lock"], int(row["ns"]) / int(row["pairs"])))
        boots = {}  # by lock and kernel, then by boot
        for (kernel, boot, _), each in runs.items():
            ns = dict(each)
            for lock in ns:
                boots.setdefault((lock, kernel), {}).setdefault(boot, []).append(
                    (ns[lock], ns[lock] / ns["raw_spin_lock"], ns[lock] / ns["SpinLock"]))
        lines = self.lines("kernel.md", r"(\w+) +(stock|test)" + r" +(\d+\.\d+)" * 5)
        self.assertEqual({(line[1], line[2]) for line in lines}, set(boots))
        for line in lines:
            each = [[median(column) for column in zip(*boot)] for boot in boots[line[1], line[2]].values()]
            ns, ratio, binding = zip(*each)
            due = [median(ns), median(ratio), min(ratio), max(ratio), median(binding)]
            for number, figure in enumerate(due):
                self.same(line[3 + number], figure, f"{line[1]}, {line[2]}, column {3 + number}")

    def test_writers(self):
        rates = {}  # by lock, kernel and writers, then by boot and run
        for row in rows("contended.csv"):
            mine = rates.setdefault((row["lock"], row["kernel"], row["writers"]), {})
            mine[row["boot"], row["run"]] = int(row["acquisitions"]) / float(row["seconds"])
        lines = self.lines("kernel.md", r"(\w+) +(stock|test) +(\d+) +(\d+)" + r" +([0-9.]+)" * 3)
        self.assertEqual({(line[1], line[2], line[3]) for line in lines}, set(rates))
        for line in lines:
            mine, base = rates[line[1], line[2], line[3]], rates["raw_spin_lock", line[2], line[3]]
            self.assertEqual(set(mine), set(base))
            boots = by(mine, lambda key: key[0], lambda key: (mine[key], mine[key] / base[key]))
            each = [[median(column) for column in zip(*boot)] for boot in boots.values()]
            rate, ratios = zip(*each)
            for number, figure in enumerate([median(rate), median(ratios), min(ratios), max(ratios)]):
                self.same(line[4 + number], figure, f"{line[1]}, {line[2]}, {line[3]} writers, column {4 + number}")


class Rlock(Page):
    def test_increments(self):
        where = ("method", "threads", "cpus")
        each = {}
        for row in rows("rlock-raw.csv"):
            places = each.setdefault(tuple(row[name] for name in where), {})
            places.setdefault(row["alignment"], []).append((float(row["cycles"]), float(row["ns"])))
        number = r"([0-9.]+)"
        lines = self.lines("rlock.md", rf"\| (\w+) \| (\d+) / (\d+) \| {number} \| {number} to {number} \| {number} \| n/a "
                                       rf"\| {number} \|")
        self.assertEqual({(line[1], line[2], line[3]) for line in lines}, set(each))
        base, _ = self.medians(each["rlock", "1", "1"])
        for line in lines:
            cycles, ns = self.medians(each[line[1], line[2], line[3]])
            due = [median(cycles), min(cycles), max(cycles), median(ns), median(cycles) / median(base)]
            for number, figure in enumerate(due):
                self.same(line[4 + number], figure, f"{line[1]}, {line[2]} / {line[3]}, column {4 + number}")

    def medians(self, places):
        """The median cycles, and ns, at each place of the code."""
        return zip(*([median(column) for column in zip(*rounds)] for rounds in places.values()))

    def test_cancellations(self):
        due = {(row["mode"], row["victim"]): (row["median_ns"], row["p99_ns"]) for row in rows("rlock-cancel.csv")}
        lines = self.lines("rlock.md", r"\| (\w+) \| (\w+) \| (\d+) \| (\d+) \| \d+ of \d+ \|")
        self.assertEqual({(line[1], line[2]): (line[3], line[4]) for line in lines}, due)


class ALock(Page):
    def test_throughput(self):
        each = by(rows("alock-raw.csv"), lambda row: (row["lock"], row["threads"], row["locks"], row["locality"]),
                  lambda row: float(row["throughput"]))
        found = {}
        for line in self.lines("alock.md", r"\| (\d+) %[^|]*, (\d) threads?[^|]* \|([^|]*)\|([^|]*)\|([^|]*)\|"):
            for locks, cell in zip(("20", "100", "1000"), line.group(3, 4, 5)):
                for lock, said in zip(("rdma_spin", "rdma_mcs"), cell.split("/")):
                    point = line[2], locks, line[1]
                    found[lock, *point] = True
                    self.same(said.strip(), median(each["alock", *point]) / median(each[lock, *point]), f"{lock}, {point}")
        self.assertEqual(set(found), {key for key in each if key[0] != "alock"})


class Ratios(Page):
    def test_the_table_is_of_the_single_ratios(self):
        sides = by(rows("ratios-each.csv"), lambda row: (row["row"], row["side"]), lambda row: float(row["ratio"]))
        table = rows("ratios.csv")
        self.assertEqual({row["row"] for row in table}, {row for row, _ in sides})
        apart = 0
        for row in table:
            before, after = sides[row["row"], "before"], sides[row["row"], "after"]
            spreads = re.fullmatch(r"([0-9.]+) to ([0-9.]+); ([0-9.]+) to ([0-9.]+)", row["spread"]).groups()
            due = [median(before), median(after), min(before), max(before), min(after), max(after)]
            for said, figure in zip([row["before"], row["after"], *spreads], due):
                # A single ratio has four decimals.
                self.same(said, figure, row["row"])
            apart += not (min(after) <= due[0] <= max(after) and min(before) <= due[1] <= max(before))
        log = (RESULTS / "log.md").read_text()
        self.assertIn(f"Of {len(table)} rows {len(table) - apart} are the same.", log)
