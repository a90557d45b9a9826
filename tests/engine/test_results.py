# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""The tables on the pages of docs/results are those of the data beside them, computed here anew."""

import contextlib
import csv
import io
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile
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

    def words(self, page):
        """The page with its lines joined."""
        return " ".join((RESULTS / page).read_text().split())

    def same(self, said, due, what):
        """The printed number is the due one, rounded to as many decimals."""
        decimals = len(said.partition(".")[2])
        self.assertLessEqual(abs(float(said) - due), 0.5001 * 10 ** -decimals, f"{what}: {said}, and not {due:.4f}")


class Kernel(Page):
    # A column of uncontended.csv, and the lock to which it is the ratio.
    BASES = {"to_raw_spin_lock": "raw_spin_lock", "to_qspinlock": "qspinlock", "to_spin_lock": "spin_lock", "to_twa": "twa"}
    # The locks of the page's first table, as it calls them.
    NAMES = {"TWA": "twa", "one-word TWA": "one_word_twa", "ticket": "ticket", "MCS": "mcs", "CLH": "clh", "TTAS": "ttas",
             "qspinlock": "qspinlock"}

    def test_the_tables_as_printed(self):
        printed = io.StringIO()
        command = [str(TOP / "scripts/report/bench-table"), "--of", str(RESULTS / "data")]
        with unittest.mock.patch.object(sys, "argv", command), contextlib.redirect_stdout(printed):
            runpy.run_path(command[0], run_name="__main__")
        page = (RESULTS / "kernel.md").read_text()
        for table in re.split(r"^(?=contended)", printed.getvalue(), flags=re.MULTILINE):
            self.assertIn(f"```\n{table}```\n", page)

    def pairs(self):
        """{(kernel, layout, lock, shape): {column: [a boot's median]}}, of the raw data."""
        runs = {}  # by kernel, layout and lock, then by boot and run
        shape = {}
        for row in rows("uncontended-raw.csv"):
            mine = runs.setdefault((row["kernel"], row["layout"], row["lock"]), {})
            mine[row["boot"], row["run"]] = int(row["ns"]) / int(row["pairs"])
            self.assertEqual(shape.setdefault(row["lock"], row["shape"]), row["shape"])
        found = {}
        for (kernel, layout, lock), mine in runs.items():
            columns = {"ns": mine}
            for column, base in self.BASES.items():
                other = runs[kernel, layout, base]
                self.assertEqual(set(mine), set(other))
                columns[column] = {run: mine[run] / other[run] for run in mine}
            found[kernel, layout, lock, shape[lock]] = {
                column: [median(boot) for boot in by(each, lambda run: run[0], lambda run: each[run]).values()]
                for column, each in columns.items()}
        return found

    def ratios(self, lock, column, layout):
        """A boot's ratio, by kernel."""
        return {key[0]: each[column] for key, each in self.pairs().items() if key[1:3] == (layout, lock)}

    def writers(self):
        """{(lock, kernel, writers): {boot: its median ratio to raw_spin_lock}}, of the raw data."""
        rates = {}
        for row in rows("contended.csv"):
            mine = rates.setdefault((row["lock"], row["kernel"], row["writers"]), {})
            mine[row["boot"], row["run"]] = int(row["acquisitions"]) / float(row["seconds"])
        found = {}
        for (lock, *point), mine in rates.items():
            base = rates["raw_spin_lock", *point]
            boots = by(mine, lambda run: run[0], lambda run: mine[run] / base[run])
            found[lock, *point] = {boot: median(each) for boot, each in boots.items()}
        return found

    def span(self, values):
        """The least to the most, as the page says it."""
        least, most = f"{min(values):.2f}", f"{max(values):.2f}"
        return least if least == most else f"{least} to {most}"

    def table(self, heading):
        """The rows of a page's table below its heading's row and the line."""
        text = (RESULTS / "kernel.md").read_text().splitlines()
        self.assertIn(heading, text)
        after = text[text.index(heading) + 2:]
        return after[:next(at for at, line in enumerate(after) if not line.startswith("|"))]

    def test_the_table_of_data(self):
        pairs = self.pairs()
        table = {tuple(row[name] for name in ("kernel", "layout", "lock", "shape")): row for row in rows("uncontended.csv")}
        self.assertEqual(set(table), set(pairs))
        for key, row in table.items():
            self.assertEqual(int(row["boots"]), len(pairs[key]["ns"]))
            self.same(row["ns"], median(pairs[key]["ns"]), f"{key}, ns")
            for column in self.BASES:
                each = pairs[key][column]
                for name, due in ((column, median(each)), (f"{column}_min", min(each)), (f"{column}_max", max(each))):
                    self.same(row[name], due, f"{key}, {name}")

    def test_the_uncontended_pair(self):
        pairs = self.pairs()
        lines = self.lines("kernel.md", r"(\w+) +(inlined|called|bound) +(far|near) +(stock|test)" + r" +(\d+\.\d+)" * 11)
        said = {(line[4], line[3], line[1], line[2]): line.groups()[4:] for line in lines}
        self.assertEqual(set(said), set(pairs))
        for key, numbers in said.items():
            due = [median(pairs[key]["ns"])]
            for column in ("to_raw_spin_lock", "to_qspinlock", "to_twa"):
                due += [median(pairs[key][column]), min(pairs[key][column]), max(pairs[key][column])]
            due.append(median(pairs[key]["to_spin_lock"]))
            for number, (one, figure) in enumerate(zip(numbers, due, strict=True)):
                self.same(one, figure, f"{key}, number {number}")

    def test_the_targets(self):
        due = []
        for to, column, target in (("TWA", "to_twa", 1.10), ("qspinlock", "to_qspinlock", 1.20)):
            for kernel, each in self.ratios("one_word_twa", column, "far").items():
                holds = "yes" if median(each) <= target else "no"
                due.append(f"| {to} | {target:.2f} | {kernel} | {median(each):.3f} | {min(each):.3f} to {max(each):.3f} "
                           f"| {holds} |")
        self.assertEqual(len(due), 4)
        self.maxDiff = None
        self.assertEqual(
            self.table("| one-word TWA's time to that of | at most | kernel | median | least to most boot | holds |"), due)

    def test_the_first_table(self):
        due, writers = [], self.writers()
        for name, lock in self.NAMES.items():
            pair = [self.span([median(each) for each in self.ratios(lock, column, layout).values()])
                    for layout in ("far", "near") for column in ("to_raw_spin_lock", "to_qspinlock")]
            mine = [list(boots.values()) for key, boots in writers.items() if key[0] == lock]
            single = [ratio for boots in mine for ratio in boots]
            rate = self.span([median(boots) for boots in mine])
            due.append(f"| {name} | {' | '.join(pair)} | {rate} | {sum(one < 1 for one in single)} of {len(single)} |")
        self.maxDiff = None
        self.assertEqual(
            self.table("| lock | far: time to `raw_spin_lock`'s | to qspinlock's | near: to `raw_spin_lock`'s "
                       "| to qspinlock's | rate of writers | slower boots |"), due)

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

    def test_more_virtual_cpus_than_cpus(self):
        rates = by(rows("oversubscribed.csv"), lambda row: row["lock"],
                   lambda row: int(row["acquisitions"]) / float(row["seconds"]))
        said = [line.groups() for line in self.lines("kernel.md", r"\| `?(\w+)`? \| ([\d,]+) to ([\d,]+) \|")]
        self.assertEqual([lock for lock, _, _ in said], list(rates))
        for lock, least, most in said:
            self.same(least.replace(",", ""), min(rates[lock]), lock)
            self.same(most.replace(",", ""), max(rates[lock]), lock)

    def test_the_findings(self):
        words, pairs, writers = self.words("kernel.md"), self.pairs(), self.writers()
        same = [list(boots.values()) for key, boots in writers.items() if key[0] == "spin_lock"]
        middle, single = [median(boots) for boots in same], [one for boots in same for one in boots]
        self.assertIn(f"The medians are {min(middle):.2f} to {max(middle):.2f}, single boots {min(single):.2f} to "
                      f"{max(single):.2f}.", words)
        for layout in ("far", "near"):
            each = [one for boots in self.ratios("twa", "to_raw_spin_lock", layout).values() for one in boots]
            self.assertIn(f"In layout {layout}, TWA's boots lie between {min(each):.2f} and {max(each):.2f}.", words)
        ns = median(pairs["stock", "far", "raw_spin_lock", "called"]["ns"])
        lap = median(1e9 * float(row["seconds"]) / int(row["acquisitions"]) for row in rows("contended.csv")
                     if (row["kernel"], row["lock"], row["writers"]) == ("stock", "raw_spin_lock", "1"))
        self.assertIn(f"On the stock kernel a pair takes some {ns:.0f} ns of some {lap:.0f}. A lock of twice the cost would "
                      f"still show as about {lap / (lap + ns):.2f}.", words)


class Coherence(Page):
    """Simulated CPUs: each number is computed again from the table."""
    NAMES = {"ticket": "ticket", "TWA": "twa", "one-word TWA": "one_word_twa", "MCS": "mcs", "CLH": "clh", "TTAS": "ttas",
             "ticket, two lines": "ticket_apart", "TWA, two lines": "twa_apart"}

    def setUp(self):
        self.runs = {(row["lock"], int(row["threads"]), int(row["machine"])): row for row in rows("coherence.csv")}
        self.machines = sorted({machine for _, _, machine in self.runs})

    def of(self, lock, threads, value):
        """Of each machine."""
        return [value(self.runs[self.NAMES[lock], threads, machine]) for machine in self.machines]

    def test_the_table_is_whole(self):
        threads = (1, 2, 4, 6, 8, 12, 18, 24, 36, 48, 72)
        self.assertEqual(self.machines, list(range(24)))
        self.assertEqual(set(self.runs), {(lock, number, machine) for lock in self.NAMES.values() for number in threads
                                          for machine in self.machines})
        self.assertEqual(len(self.runs), len(rows("coherence.csv")))
        same = {tuple(row[name] for name in ("topology", "seed", "section_ns", "between_ns", "time_ns"))
                for row in self.runs.values()}
        self.assertEqual(same, {("2x18x2", "1", "12", "540", "500000")})

    def test_throughput(self):
        lines = self.lines("coherence.md", r"\| ([^|]+) \| ((?:[0-9.]+ \| ){5}[0-9.]+) \|")
        found = [line for line in lines if line[1] in self.NAMES]
        self.assertEqual([line[1] for line in found], list(self.NAMES))
        for line in found:
            for threads, said in zip((1, 4, 8, 18, 36, 72), line[2].split(" | "), strict=True):
                due = median(self.of(line[1], threads, lambda row: 1000 * int(row["acquisitions"]) / float(row["time_ns"])))
                self.same(said, due, f"{line[1]}, {threads} threads")

    def test_ratios(self):
        found = self.lines("coherence.md", r"\| ([^|]+) to ([^|]+) \| (\d+) \| ([0-9.]+) \| ([0-9.]+) \| ([0-9.]+) \|")
        self.assertEqual(len(found), 9)
        for one, other, threads, *said in (line.groups() for line in found):
            mine, its = (self.of(lock, int(threads), lambda row: int(row["acquisitions"])) for lock in (one, other))
            ratios = [a / b for a, b in zip(mine, its, strict=True)]
            for text, due in zip(said, (min(ratios), median(ratios), max(ratios)), strict=True):
                self.same(text, due, f"{one} to {other}, {threads} threads")

    def test_traffic(self):
        columns = ("lock_invalidations", "slot_invalidations", "node_invalidations", "looks_again", "far_transfers")
        found = self.lines("coherence.md", r"\| ([^|]+) \| ([0-9.]+) \| ([0-9.]+) \| ([0-9.]+) \| ([0-9.]+) \| ([0-9.]+) \|")
        self.assertEqual([line[1] for line in found], list(self.NAMES))
        for lock, *said in (line.groups() for line in found):
            for text, column in zip(said, columns, strict=True):
                self.same(text, median(self.of(lock, 72, lambda row: float(row[column]))), f"{lock}, {column}")

    def test_the_machine_on_which_twa_gains_nothing(self):
        ratios = [a / b for a, b in zip(*(self.of(lock, 72, lambda row: int(row["acquisitions"]))
                                          for lock in ("TWA, two lines", "ticket, two lines")), strict=True)]
        self.assertLess(min(ratios), 1.05)
        self.assertGreater(sorted(ratios)[1], 1.05)
        self.assertIn("With two lines there is a machine on which TWA gains nothing", self.words("coherence.md"))


class BenchTable(unittest.TestCase):
    """bench-table makes the committed tables of what guests said, which is rebuilt from them."""

    def test_the_tables_of_the_guests(self):
        with tempfile.TemporaryDirectory() as folder:
            for kind, name in (("uncontended", "uncontended-raw"), ("writers", "contended")):
                for (kernel, boot), of in by(rows(f"{name}.csv"), lambda row: (row["kernel"], row["boot"]), dict).items():
                    at = pathlib.Path(folder, "raw", f"{kernel}-{boot}", kind)
                    at.parent.mkdir(parents=True, exist_ok=True)
                    with open(at, "w", newline="") as file:
                        table = csv.DictWriter(file, [column for column in of[0] if column not in ("kernel", "boot")],
                                               extrasaction="ignore", lineterminator="\n")
                        table.writeheader()
                        table.writerows(of)
            boots = len({row["boot"] for row in rows("contended.csv")})
            command = [str(TOP / "scripts/report/bench-table"), folder, str(boots)]
            with unittest.mock.patch.object(sys, "argv", command), contextlib.redirect_stdout(io.StringIO()) as printed:
                runpy.run_path(command[0], run_name="__main__")
            self.assertIn("uncontended", printed.getvalue())
            for name in ("uncontended-raw.csv", "uncontended.csv", "contended.csv"):
                self.assertEqual(pathlib.Path(folder, name).read_text(), (RESULTS / "data" / name).read_text(), name)


class StudyScript(unittest.TestCase):
    """`make study` writes the committed table; with a seed it leaves that table alone."""

    def run_in(self, folder, *arguments):
        top = pathlib.Path(folder)
        for name, text in {
                "scripts/lib/env.sh": 'top=$PWD in_top=$PWD\nalone() { :; }\nstep() { shift 2; "$@"; }\ndie() { echo "$*"; exit 1; }\n',
                "scripts/in-toolbox": '#!/bin/bash\n[ "$1" = env ] && exit\nexec "$@"\n',
                "build/study/release/examples/study": '#!/bin/bash\necho "table $*"\n',
                "docs/results/data/study.csv": "before\n"}.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(text)
            (top / name).chmod(0o755)
        (top / "scripts/study").write_text((TOP / "scripts/study").read_text())
        said = subprocess.run(["bash", "scripts/study", *arguments], cwd=top, capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        return said.stdout.splitlines()[-1], (top / "docs/results/data/study.csv").read_text(), top

    def test_where_the_table_goes(self):
        with tempfile.TemporaryDirectory() as folder:
            said, table, _ = self.run_in(folder)
            self.assertEqual((said, table), ("docs/results/data/study.csv", "table \n"))
        with tempfile.TemporaryDirectory() as folder:
            said, table, top = self.run_in(folder, "17")
            self.assertEqual((said, table), ("build/study/17.csv", "before\n"))
            self.assertEqual((top / said).read_text(), "table 17\n")


class Study(Page):
    """Counts: each is computed again from the table, and each finding is looked for in it."""
    SLOTS, THRESHOLDS = (1, 4, 16, 64, 256, 1024, 4096), (0, 1, 2, 4)

    def setUp(self):
        self.rows = [{name: value if name == "lock" else int(value) for name, value in row.items()}
                     for row in rows("study.csv")]
        self.words_of_page = self.words("study.md")

    def per(self, what, of, **point):
        """The sum of the columns `what`, to the sum of the column `of`, over the seeds of a point."""
        mine = [row for row in self.rows if all(row[name] == value for name, value in point.items())]
        self.assertEqual(len(mine), 3, point)
        return sum(row[name] for row in mine for name in what) / sum(row[of] for row in mine)

    def cells(self, line, first):
        return line.group(first).strip(" |").split(" | ")

    COLLISIONS = ("same_lock", "other_lock")

    def test_parameters(self):
        for name, column in (("long-term threshold T", "threshold"), ("slots of the array", "slots"),
                             ("threads", "contenders"), ("locks that share the array", "locks"), ("seeds", "seed"),
                             ("acquisitions a run, by all threads together", "acquisitions")):
            due = ", ".join(str(value) for value in sorted({row[column] for row in self.rows}))
            self.assertIn(f"| {name} | {due} |", self.words_of_page)
        self.assertEqual(len(self.rows), 2 * 4 * 7 * 5 * 3 * 3)

    def test_collisions(self):
        lines = self.lines("study.md", r"\| `(\w+)` \| (\d) ((?:\| [0-9.]+ ){7}\|)")
        self.assertEqual([line.groups()[:2] for line in lines],
                         [(lock, locks) for lock in ("twa", "one_word_twa") for locks in "128"])
        for line in lines:
            for slots, said in zip(self.SLOTS, self.cells(line, 3), strict=True):
                due = self.per(self.COLLISIONS, "long_term", lock=line[1], locks=int(line[2]), slots=slots, threshold=1,
                               contenders=32)
                self.same(said, 100 * due, f"{line[1]}, {line[2]} locks, {slots} slots")

    def test_most_collisions(self):
        found = self.tables(r"\| (\d) ((?:\| [0-9]+\.[0-9] ){7}\|)")
        self.assertEqual([int(line[1]) for line in found], [1, 2, 8])
        for line in found:
            for slots, said in zip(self.SLOTS, self.cells(line, 2), strict=True):
                due = max(100 * self.collisions(row) / row["long_term"] for row in self.rows if row["long_term"] >= 100
                          and (row["locks"], row["slots"]) == (int(line[1]), slots))
                self.same(said, due, f"the most, {line[1]} locks, {slots} slots")

    def test_long_term_waits(self):
        lines = self.tables(r"\| (\d) \| (\d+) ((?:\| [0-9.]+ ){8}\|)")
        self.assertEqual([(int(line[1]), int(line[2])) for line in lines],
                         [(locks, threads) for locks in (1, 2, 8) for threads in (2, 4, 8, 16, 32)])
        for line in lines:
            points = [(lock, threshold) for lock in ("twa", "one_word_twa") for threshold in self.THRESHOLDS]
            for (lock, threshold), said in zip(points, self.cells(line, 3), strict=True):
                due = self.per(["long_term"], "acquisitions", lock=lock, threshold=threshold, locks=int(line[1]),
                               contenders=int(line[2]), slots=4096)
                self.same(said, 100 * due, f"{line[0]}, {lock}, T = {threshold}")

    def test_looks(self):
        lines = self.tables(r"\| (\d) ((?:\| [0-9]+\.[0-9]{2} ){7}\|)")
        self.assertEqual([int(line[1]) for line in lines], list(self.THRESHOLDS))
        for line in lines:
            for slots, said in zip(self.SLOTS, self.cells(line, 2), strict=True):
                due = self.per(["looks"], "long_term", lock="twa", threshold=int(line[1]), locks=1, contenders=32, slots=slots)
                self.same(said, due, f"looks, T = {line[1]}, {slots} slots")

    def tables(self, pattern):
        return self.lines("study.md", pattern)

    def collisions(self, row):
        return sum(row[name] for name in self.COLLISIONS)

    def test_the_findings(self):
        def says(words):
            self.assertIn(words, self.words_of_page)

        says("One lock has no collision in any run with at least as many slots as threads.")
        for row in self.rows:
            if row["locks"] == 1 and row["slots"] >= row["contenders"]:
                self.assertEqual(self.collisions(row), 0, row)
        says("At 4096 slots fewer than 1 of 100 long-term waits has one, in each run.")
        whole = [row for row in self.rows if row["slots"] == 4096]
        self.assertTrue(all(100 * self.collisions(row) < row["long_term"] for row in whole if row["long_term"]))
        says("Several locks collide in arrays of any size.")
        for slots in self.SLOTS:
            self.assertTrue(any(self.collisions(row) for row in self.rows if row["locks"] > 1 and row["slots"] == slots))
        says("One lock has nearly one collision per long-term wait with 16 slots and 32 threads.")
        for row in self.rows:
            if (row["locks"], row["slots"], row["contenders"]) == (1, 16, 32):
                self.assertEqual(round(self.collisions(row) / row["long_term"], 1), 1.0, row)
        says("In one word a release notifies once for each long-term wait")
        says("`Twa` notifies at each release.")
        for row in self.rows:
            due = row["long_term"] if row["lock"] == "one_word_twa" else row["acquisitions"]
            self.assertEqual(row["notified"], due, row)
        says("No thread waits long term where there are at most T + 1 threads.")
        self.assertFalse(any(row["long_term"] for row in self.rows if row["contenders"] <= row["threshold"] + 1))
        share = [100 * row["long_term"] / row["acquisitions"] for row in self.rows
                 if (row["locks"], row["contenders"]) == (1, 32)]
        says(f"With 32 threads at one lock {min(share):.1f} to {max(share):.1f} of 100 acquisitions wait long term, at every T.")
        says("With 4 threads and 8 locks the share falls from T = 0 to T = 1 to less than a tenth.")
        for lock in ("twa", "one_word_twa"):
            none, one = (self.per(["long_term"], "acquisitions", lock=lock, threshold=threshold, locks=8, contenders=4,
                                  slots=4096) for threshold in (0, 1))
            self.assertLess(one, none / 10)
        says("A long-term wait takes one look when it begins, and one for each wake-up.")
        for row in self.rows:
            self.assertEqual(row["looks"], row["long_term"] + row["own"] + self.collisions(row), row)
            if not self.collisions(row):
                self.assertLessEqual(row["looks"], 2 * row["long_term"], row)


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

    def test_the_findings(self):
        ratios, single = {}, []
        for name in ("rlock-raw.csv", "rlock-second-raw.csv"):
            ns = by(rows(name), lambda row: (row["method"], row["threads"], row["cpus"]),
                    lambda row: (row["alignment"], row["round"], float(row["ns"])))
            middle = {}
            for key, each in ns.items():
                places = by(each, lambda one: one[0], lambda one: one[2])
                middle[key] = median(median(rounds) for rounds in places.values())
            one = middle["rlock", "1", "1"]
            for key in middle:
                ratios.setdefault(key, []).append(middle[key] / one)
            ratios.setdefault("counter", []).append(middle["rlock_counter", "1", "1"] / middle["lock_add", "1", "1"])
            ratios.setdefault("tenth", []).append(one / min(middle[method, "1", "1"] for method in ("xchg", "lock_add")))
            single += [two[2] / alone[2] for two, alone in zip(ns["rlock", "2", "2"], ns["rlock", "1", "1"])]
        words = self.words("rlock.md")
        more = [100 * (ratio - 1) for threads in ("4", "256") for ratio in ratios["rlock", threads, "1"]]
        self.assertIn(f"takes {min(more):.0f} to {max(more):.0f} % more, by the medians of two runs", words)
        off = max(abs(100 * (ratio - 1)) for ratio in ratios["rlock", "2", "2"])
        self.assertIn(f"it takes the same to {max(1, round(off))} %. Of single rounds the latter is "
                      f"{min(single):.2f} to {max(single):.2f}.", words)
        self.assertIn("costs a tenth of the cheapest locked method", words)
        self.assertEqual([round(ratio, 1) for ratio in ratios["tenth"]], [0.1, 0.1])
        self.assertIn("`Counter::add` costs a quarter of a `lock add`", words)
        self.assertTrue(all(4 <= 1 / ratio < 4.5 for ratio in ratios["counter"]), ratios["counter"])

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

    def test_latency(self):
        of = {(row["lock"], row["threads"], row["locks"]): int(row["p50_ns"]) / 1000
              for row in rows("alock-summary.csv") if row["locality"] == "100"}
        mine, theirs = ([ns for key, ns in of.items() if (key[0] == "alock") == ours] for ours in (True, False))
        less = [ns / of["alock", key[1], key[2]] for key, ns in of.items() if key[0] != "alock"]
        said, = re.findall(r"its median latency is ([0-9.]+) to ([0-9.]+) us. The other two locks have (\d+) to (\d+) us. "
                           r"ALock's is a (\d+)th to a (\d+)th", self.words("alock.md"))
        for number, figure in zip(said, [min(mine), max(mine), min(theirs), max(theirs), min(less), max(less)]):
            self.same(number, figure, "latency at 100 % local")

    def test_spread(self):
        rates = by(rows("alock-raw.csv"), lambda row: (row["lock"], row["threads"], row["locks"], row["locality"]),
                   lambda row: float(row["throughput"]))
        wide = [max(each) / min(each) for each in rates.values()]
        words = self.words("alock.md")
        said, = re.findall(r"between its rounds \| ([0-9.]+) times \(the median of all points\), at most ([0-9.]+)", words)
        for number, figure in zip(said, [median(wide), max(wide)]):
            self.same(number, figure, "rates of a point between its rounds")
        budgets = rows("alock-budgets.csv")
        said, = re.findall(r"of 10 and 20 instead of 5 [^|]*\| ([0-9.]+) to ([0-9.]+) of the throughput", words)
        gains = [float(row["speed_up"]) for row in budgets if row["remote_budget"] != "5"]
        for number, figure in zip(said, [min(gains), max(gains)]):
            self.same(number, figure, "budgets")
        # Those of the comparison's budgets, at points of both runs.
        pair = {(row["local_budget"], row["remote_budget"]) for row in rows("alock-raw.csv") if row["lock"] == "alock"}
        off = []
        for row in budgets:
            first = rates.get(("alock", row["threads"], row["locks"], row["locality"]))
            if first and (row["local_budget"], row["remote_budget"]) in pair:
                off.append(abs(float(row["throughput"]) / median(first) - 1) * 100)
        said, = re.findall(r"run twice in one `make run-alock` \| (\d+) and (\d+) % here", words)
        for number, figure in zip(said, sorted(off), strict=True):
            self.same(number, figure, "the same point twice")

    def test_baselines(self):
        each = by(rows("alock-baselines.csv"), lambda row: (row["path"], row["what"]),
                  lambda row: [float(row[name]) / int(row["verbs"]) / 1000 for name in ("ns", "median_ns")])
        mean = {key: median(ns for ns, _ in runs) for key, runs in each.items()}
        lines = self.lines("alock.md", r"\| (loopback|across) \| ([^|]+) \| (\d) \| ([0-9.]+) \| ([0-9.]+) to ([0-9.]+) "
                                       r"\| ([0-9.]+) \| (\d+) % \| (\d+) % \|")
        self.assertEqual({(line[1], line[2]) for line in lines}, set(each))
        shares = {}
        for line in lines:
            key = line[1], line[2]
            means, middles = zip(*each[key])
            due = [mean[key], min(means), max(means), median(middles)]
            due += [100 * mean[line[1], of] / mean[key] for of in ("perftest", "perftest with a gap")]
            for number, figure in enumerate(due):
                self.same(line[4 + number], figure, f"{key}, column {4 + number}")
            kind = "locks" if key[1].startswith("rdma_") else key[1].split()[0]
            for path, yardstick, share in ((key[0], "back to back", due[4]), ("both", "with the gap", due[5])):
                shares.setdefault((yardstick, path, kind), []).append(share)
        found = self.lines("alock.md", r"\| (back to back|with the gap) \| (across|loopback|both)[^|]* \| (\d+) to (\d+) % "
                                       r"\| (\d+) to (\d+) % \|")
        self.assertEqual(len(found), 3)
        for line in found:
            for at, kind in ((3, "locks"), (5, "nic")):
                of = shares[line[1], line[2], kind]
                for number, figure in zip(line.group(at, at + 1), (min(of), max(of))):
                    self.same(number, figure, f"{line[1]}, {line[2]}, {kind}")


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
        pairs = by(rows("ratios-alock.csv"), lambda row: (row["side"], row["turn"], row["threads"], row["locks"], row["locality"]),
                   lambda row: float(row["throughput"]))
        less = [median(each) / median(pairs["before", *key[1:]])
                for key, each in pairs.items() if key[0] == "after" and key[4] == "100"]
        less = [100 - 100 * ratio for ratio in less if ratio < 1]
        self.assertEqual((len(less), round(min(less)), round(max(less))), (11, 3, 13))
        log = (RESULTS / "log.md").read_text()
        self.assertIn("were lower in eleven of the twelve pairs of medians, by 3 to 13 %", log)
        self.assertIn(f"Of {len(table)} rows {len(table) - apart} are the same.", log)
