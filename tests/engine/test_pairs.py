# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""The page on pairs in user space: its tables, computed again from the samples beside it."""

import csv
import pathlib
import statistics
import unittest
from fractions import Fraction

TOP = pathlib.Path(__file__).resolve().parents[2]
DATA = TOP / "docs/results/data"


def read(command):
    with open(DATA / f"user-{command}.csv", newline="") as file:
        return list(csv.DictReader(file))


def hundredths(value):
    """To two places, half up."""
    cents = int(value * 100 + Fraction(1, 2))
    return f"{cents // 100}.{cents % 100:02}"


def spread(values):
    return statistics.median(values), min(values), max(values)


class Samples:
    """The samples of one command: each lock's rounds, by shape."""

    def __init__(self, command, base):
        self.times = {}
        for row in read(command):
            self.times.setdefault((row["shape"], row["lock"]), {})[row["round"]] = int(row["ps"]), int(row["least_ps"])
        self.base = base

    def ratios(self, shape, lock, which=0):
        quiet = self.times[shape, self.base]
        return [Fraction(ps[which], quiet[round_][which]) for round_, ps in self.times[shape, lock].items()]

    def shapes(self):
        return list(dict.fromkeys(shape for shape, _ in self.times))

    def locks(self):
        return list(dict.fromkeys(lock for _, lock in self.times))

    def table(self):
        """As the command prints it, where all have one shape."""
        lines = [f"| lock | ns | to {self.base} | least | most | of least batches |", "|---|---|---|---|---|---|"]
        for lock in self.locks():
            tenths = int(statistics.median(ps for ps, _ in self.times["", lock].values())) // 100
            figures = [*spread(self.ratios("", lock)), statistics.median(self.ratios("", lock, 1))]
            lines.append(f"| {lock} | {tenths // 10}.{tenths % 10} | " + " | ".join(map(hundredths, figures)) + " |")
        return "\n".join(lines)

    def by_shape(self, threads):
        """Locks by rows, shapes of so many threads by columns: the median ratio, and the least and most."""
        shapes = [shape for shape in self.shapes() if shape.startswith(f"{threads} / ")]
        lines = ["| lock | " + " | ".join(f"{shape.split(' / ')[1]} locks" for shape in shapes) + " |", "|---" * (1 + len(shapes)) + "|"]
        for lock in self.locks():
            cells = []
            for shape in shapes:
                middle, least, most = map(hundredths, spread(self.ratios(shape, lock)))
                cells.append(f"{middle} ({least} to {most})")
            lines.append(f"| {lock} | " + " | ".join(cells) + " |")
        return "\n".join(lines)


def interrupted():
    """As the command prints it."""
    lines = ["| wanted a second | made a second | time to none | least | most | ns lost to one | least | most | ns a call |", "|---" * 9 + "|"]
    rows = read("interrupted")
    quiet = {row["round"]: int(row["ns"]) for row in rows if row["rate"] == "none"}
    for rate in dict.fromkeys(("none", *sorted((row["rate"] for row in rows if row["rate"].isdigit()), key=int), *(row["rate"] for row in rows))):
        of_rate = [{key: int(value) for key, value in row.items() if key != "rate"} | {"quiet": quiet[row["round"]]}
                   for row in rows if row["rate"] == rate]
        made = statistics.median(row["calls"] * 10**9 // row["ns"] for row in of_rate)
        ratios = map(hundredths, spread([Fraction(row["ns"], row["quiet"]) for row in of_rate]))
        with_calls = [row for row in of_rate if row["calls"]]
        rest = [" "] * 4
        if with_calls:
            # Rounded towards zero, as Rust divides.
            lost = spread([int(Fraction(row["ns"] - row["quiet"], row["calls"])) for row in with_calls])
            rest = [f" {value} " for value in (*lost, statistics.median(row["call_ns"] // row["calls"] for row in with_calls))]
        lines.append(f"| {rate} | {made} | " + " | ".join(ratios) + " |" + "|".join(rest) + "|")
    return "\n".join(lines)


class Page(unittest.TestCase):
    page = (TOP / "docs/results/user-pairs.md").read_text()

    def test_each_lock_has_nine_rounds_in_each_shape(self):
        for command, base, locks, shapes in (("interposed", "glibc", 11, 1), ("uncontended", "std", 15, 1), ("contended", "std", 10, 8)):
            samples = Samples(command, base)
            self.assertEqual((len(samples.locks()), len(samples.shapes()), len(samples.times)), (locks, shapes, locks * shapes), command)
            self.assertEqual({len(rounds) for rounds in samples.times.values()}, {9}, command)

    def test_the_tables(self):
        for command, base in (("interposed", "glibc"), ("uncontended", "std")):
            self.assertIn(Samples(command, base).table(), self.page)
        contended = Samples("contended", "std")
        for threads in (2, 16):
            self.assertIn(contended.by_shape(threads), self.page)
        self.assertIn(interrupted(), self.page)

    def test_the_bounds(self):
        """Issue 13's bounds, and what the page says was found."""
        samples = Samples("interposed", "glibc")
        for lock, bound in (("ticket", "1.10"), ("one-word-twa", "1.20"), ("twa", "1.30")):
            found = statistics.median(samples.ratios("", lock))
            self.assertLessEqual(found, Fraction(bound))
            self.assertIn(f"| {lock} to glibc | {bound} | {hundredths(found)} |", self.page)

    def test_a_thread_that_is_interrupted_more_often_is_slower(self):
        times = {}
        for row in read("interrupted"):
            times.setdefault(row["rate"], []).append(int(row["ns"]))
        self.assertEqual({len(rounds) for rounds in times.values()}, {9})
        medians = [statistics.median(times[rate]) for rate in ("none", "10000", "50000", "as many as it can")]
        self.assertEqual(medians, sorted(medians))


class Peers(unittest.TestCase):
    """The log's table of other interposers."""

    CASES = (("readrandom", "2"), ("readrandom", "4"), ("mutexbench", "1"), ("mutexbench", "2"), ("mutexbench", "4"))

    def table(self):
        rates = {}
        for row in read("peers"):
            rates.setdefault((row["library"], row["lock"]), {}).setdefault((row["program"], row["threads"]), {})[row["round"]] = float(row["ops_per_s"])
        lines = ["| interposer | lock | LevelDB, 2 | LevelDB, 4 | MutexBench, 1 | MutexBench, 2 | MutexBench, 4 |", "|---" * 7 + "|"]
        for (library, lock), cases in rates.items():
            cells = []
            for case in self.CASES:
                self.assertEqual(sorted(cases[case]), ["1", "2", "3", "4", "5"])
                ratios = [rate / rates["glibc", "mutex"][case][round_] for round_, rate in cases[case].items()]
                cells.append("{:.2f} ({:.2f} to {:.2f})".format(*spread(ratios)))
            lines.append(f"| {library} | {lock} | " + " | ".join(cells) + " |")
        return "\n".join(lines)

    def test_the_table(self):
        self.assertIn(self.table(), (TOP / "docs/results/log.md").read_text())
