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
        for table in re.split(r"^(?=contended|latency)", printed.getvalue(), flags=re.MULTILINE):
            self.assertIn(f"```\n{table}```\n", page)

    def test_the_calibration(self):
        printed = "\n".join(runpy.run_path(str(TOP / "scripts/report/calibration"))["lines"](rows("calibration.csv")))
        self.assertIn(f"```\n{printed}\n```\n", (RESULTS / "kernel.md").read_text())
        found = by((row for row in rows("calibration.csv") if row["same"] == "steps"), lambda row: (row["harness"], row["writers"], row["cs_steps"], row["ncs_steps"]),
                   lambda row: 10 ** 9 * float(row["seconds"]) / int(row["acquisitions"]))
        said = self.lines("kernel.md", r"\| (ours|locktorture's) \| ([0-9.]+) \| ([0-9.]+) \|")
        self.assertEqual(len(said), 2)
        for line in said:
            harness = {"ours": "handover", "locktorture's": "locktorture"}[line[1]]
            empty, worked = (median(found[harness, "1", *steps]) for steps in (("0", "0"), ("20", "400")))
            self.same(line[2], empty, f"{harness}: an empty section")
            # 20 inside, and outside a uniform draw below 400.
            self.same(line[3], (worked - empty) / (20 + 399 / 2), f"{harness}: a step")

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

    def half(self, row):
        """The time at which the cumulated shares, drawn as lines from edge to edge of buckets, are one half."""
        words = [tuple(map(int, word.split("="))) for word in row["histogram"].split("+")]
        everything, below = sum(count for _, count in words), 0
        for bits, count in words:
            edges = (2 ** bits // 2 if bits else 0, 2 ** bits)
            shares = (below / everything, (below + count) / everything)
            if shares[1] >= 0.5:
                slope = (edges[1] - edges[0]) / (shares[1] - shares[0])
                return (edges[0] + slope * (0.5 - shares[0])) / int(row["tsc_khz"]) * 10 ** 6
            below += count

    def test_the_times(self):
        runs = {}
        for row in rows("latency.csv"):
            self.assertEqual(row["writer"], "all")
            mine = runs.setdefault((row["lock"], row["what"], row["kernel"], row["writers"]), {})
            mine[row["boot"], row["run"]] = row
            # Each row says what its histogram does.
            counts = [int(count) for word in row["histogram"].split("+") for count in word.split("=")[1:]]
            bits = [int(word.split("=")[0]) for word in row["histogram"].split("+")]
            self.assertEqual(sum(counts), int(row["count"]))
            for percent, said in ((50, row["p50_ns"]), (99, row["p99_ns"])):
                at = next(at for at in range(len(bits)) if 100 * sum(counts[:at + 1]) >= percent * sum(counts))
                ns = -(-(2 ** bits[at] - 1) * 10 ** 6 // int(row["tsc_khz"]))
                self.assertEqual(int(said), min(ns, int(row["longest_ns"])), row)
        said = self.lines("kernel.md", r"(\w+) +(handover|wait) +(stock|test) +(\d+)" + r" +(\d+)" + r" +(\d+\.\d+)" * 3
                          + r" +(\d+)" * 2)
        said = {line.groups()[:4]: line.groups()[4:] for line in said}
        self.assertEqual(set(said), set(runs))
        sides = {}  # by what and kernel: the locks that are slower in every boot, and those that are faster
        spans = set()
        for (lock, *point), numbers in said.items():
            mine, base = runs[lock, *point], runs["raw_spin_lock", *point]
            self.assertEqual(set(mine), set(base))

            def of_boots(value):
                return [median(each) for each in by(mine, lambda run: run[0], value).values()]
            ratios = of_boots(lambda run: self.half(mine[run]) / self.half(base[run]))
            due = [median(of_boots(lambda run: self.half(mine[run]))), median(ratios), min(ratios), max(ratios),
                   median(of_boots(lambda run: int(mine[run]["p99_ns"]))),
                   max(int(row["longest_ns"]) for row in mine.values())]
            for number, (one, figure) in enumerate(zip(numbers, due, strict=True)):
                self.same(one, figure, f"{lock}, {point}, number {number}")
            slower, faster = sides.setdefault(tuple(point[:2]), ([], []))
            if lock != "raw_spin_lock" and min(ratios) > 1:
                slower.append(lock)
            if lock != "raw_spin_lock" and max(ratios) < 1:
                faster.append(lock)
            spans.add(max(ratios) / min(ratios))
        # As the text has it.
        self.assertGreater(max(spans), 10)
        page = (RESULTS / "kernel.md").read_text()
        for (what, kernel), locks in sides.items():
            self.assertIn(f"\n| {what}s | {kernel} | {' | '.join(', '.join(each) or 'none' for each in locks)} |\n".replace("handover", "hand-over"), page)

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

    def test_the_machine_of_the_pictures(self):
        words = self.words("kernel.md")
        machine, = re.findall(r"The machine, an ([^,]+), was idle", words)
        pictures = re.findall(r"\]\((kernel-[a-z]+\.svg)\)", words)
        self.assertEqual(len(pictures), 3)
        for picture in pictures:
            desc, = re.findall("<desc>(.*?)</desc>", (RESULTS / picture).read_text())
            self.assertIn(f", {machine}, accelerator tcg", desc, picture)

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
    """Simulated CPUs: each number is computed again from the tables, and each verdict from the rates."""
    NAMES = {"ticket": "ticket", "TWA": "twa", "one-word TWA": "one_word_twa", "MCS": "mcs", "CLH": "clh", "TTAS": "ttas",
             "ticket, two lines": "ticket_apart", "TWA, two lines": "twa_apart", "qspinlock's algorithm": "qspin"}
    TABLES = {"MutexBench": "coherence", "throw": "coherence-throw", "stress_latency": "coherence-stress-latency",
              "LevelDB": "coherence-leveldb", "RocksDB": "coherence-rocksdb",
              "LockTorture": "coherence-locktorture", "MutexBench, 4 sockets": "coherence-outlook"}

    @classmethod
    def setUpClass(cls):
        cls.all = {}
        for file in (*cls.TABLES.values(), "coherence-diameter", "coherence-thresholds", "coherence-slots"):
            runs = {(row["lock"], int(row["threads"]), int(row["slots"]), int(row["machine"])): row
                    for row in rows(f"{file}.csv")}
            assert len(runs) == len(rows(f"{file}.csv")), file
            cls.all[file] = runs

    def of(self, file, lock, threads, value, slots=4096):
        """Of each machine."""
        return [value(self.all[file][self.NAMES.get(lock, lock), threads, slots, machine]) for machine in range(24)]

    @staticmethod
    def rate(row):
        return 1000 * int(row["rounds"]) / float(row["time_ns"])

    def table(self, heading):
        """The cells of a table of the page, without its heading and line."""
        text = (RESULTS / "coherence.md").read_text().splitlines()
        self.assertEqual(text.count(heading), 1, heading)
        after = text[text.index(heading) + 2:]
        lines = after[:next(at for at, line in enumerate(after) if not line.startswith("|"))]
        return [line.strip("| ").split(" | ") for line in lines]

    def spread(self, said, values, what):
        for text, due in zip(said, (min(values), median(values), max(values)), strict=True):
            self.same(text, due, what)

    def test_the_tables_are_whole(self):
        for file, runs in self.all.items():
            self.assertEqual({key[3] for key in runs}, set(range(24)), file)
            points = {key[:3] for key in runs}
            self.assertEqual(set(runs), {(*point, machine) for point in points for machine in range(24)}, file)
            locks, threads, slots = ({point[at] for point in points} for at in range(3))
            self.assertEqual(len(points), len(locks) * len(threads) * len(slots), file)
            for row in runs.values():
                self.assertLessEqual(abs(float(row["millions_per_s"]) - self.rate(row)), 0.00051)
                sections = 5 if row["workload"] == "throw" else 1
                self.assertLess(abs(int(row["acquisitions"]) - sections * int(row["rounds"])), 1 + 8 * int(row["threads"]))
        self.assertEqual({lock for lock, *_ in self.all["coherence"]}, set(self.NAMES.values()))
        same = {tuple(row[name] for name in ("workload", "topology", "seed", "warm_up_ns", "time_ns"))
                for row in self.all["coherence"].values()}
        self.assertEqual(same, {("mutexbench", "2x18x2", "1", "100000", "500000")})

    def test_throughput(self):
        found = self.table("| lock | 1 | 4 | 8 | 18 | 36 | 72 |")
        self.assertEqual([line[0] for line in found], list(self.NAMES))
        for lock, *cells in found:
            for threads, said in zip((1, 4, 8, 18, 36, 72), cells, strict=True):
                self.same(said, median(self.of("coherence", lock, threads, self.rate)), f"{lock}, {threads} threads")

    def test_ratios(self):
        found = self.table("| benchmark | locks | threads | least | median | most |")
        self.assertEqual(len(found), 27)
        for benchmark, locks, threads, *said in found:
            one, other = locks.split(" to ")
            mine, its = (self.of(self.TABLES[benchmark], lock, int(threads), self.rate) for lock in (one, other))
            self.spread(said, [a / b for a, b in zip(mine, its, strict=True)], f"{benchmark}, {locks}, {threads} threads")

    def test_programs(self):
        """The means of what is drawn, out of the profiles: of the mutex that was acquired most, without what is too long."""
        found = {line[0].split(",")[0]: line[1:] for line in self.table("| program | mean section, ns | mean time between, ns |")}
        self.assertEqual(list(found), ["LevelDB", "RocksDB"])
        for name, said in found.items():
            with open(RESULTS.parents[1] / f"rust/coherence/profiles/{name.lower()}.csv", newline="") as file:
                row = max((row for row in csv.DictReader(file) if row["address"]), key=lambda row: int(row["calls"]))
            for text, histogram in zip(said, (row["hold"], row["gap"]), strict=True):
                pairs = [tuple(map(int, word.split(":"))) for word in histogram.split()]
                drawn = [(2 ** place * 1.5 if place else 1, count) for place, count in pairs if place <= 16]
                self.same(text, sum(ns * count for ns, count in drawn) / sum(count for _, count in drawn), name)
            self.assertEqual([{row[column] for row in rows(f"coherence-{name.lower()}.csv") if row["machine"] == "0"}
                              for column in ("section_ns", "between_ns")], [{text} for text in said])

    def test_traffic(self):
        columns = ("lock_invalidations", "slot_invalidations", "node_invalidations", "release_invalidations", "looks_again",
                   "far_transfers")
        found = self.table("| lock | copies of the lock | of slots | of nodes | by the release | looks again | between sockets |")
        self.assertEqual([line[0] for line in found], list(self.NAMES))
        for lock, *said in found:
            for text, column in zip(said, columns, strict=True):
                self.same(text, median(self.of("coherence", lock, 72, lambda row: float(row[column]))), f"{lock}, {column}")

    def test_hand_overs(self):
        columns = ("handover_p50_ns", "handover_p99_ns", "invalidations_per_handover", "rereads_per_handover",
                   "far_per_handover")
        found = self.table("| lock | half within, ns | 99 of 100 within, ns | copies invalidated | looks again | between sockets |")
        self.assertEqual([line[0] for line in found], list(self.NAMES))
        for lock, *said in found:
            for text, column in zip(said, columns, strict=True):
                self.same(text, median(self.of("coherence", lock, 72, lambda row: float(row[column]))), f"{lock}, {column}")

    def test_the_diameter(self):
        found = self.table("| threads | least | median | most | copies a write |")
        self.assertEqual([line[0] for line in found], ["1", "2", "4", "8", "18", "36", "72"])
        for threads, *said, copies in found:
            self.spread(said, self.of("coherence-diameter", "none", int(threads), self.rate), f"{threads} threads")
            self.same(copies, median(self.of("coherence-diameter", "none", int(threads),
                                             lambda row: float(row["lock_invalidations"]))), threads)

    def test_parameters(self):
        found = self.table("| threshold | slots | least | median | most |")
        paper = {file: self.of(file, "twa", 72, self.rate) for file in ("coherence-thresholds", "coherence-slots")}
        self.assertEqual([line[:2] for line in found],
                         [[str(it), "4096"] for it in (0, 2, 4, 8)] + [["1", str(4 ** it)] for it in range(6)])
        for threshold, slots, *said in found:
            file = "coherence-thresholds" if threshold != "1" else "coherence-slots"
            lock = "twa" if threshold == "1" else f"twa_threshold_{threshold}"
            mine = self.of(file, lock, 72, self.rate, int(slots))
            self.spread(said, [a / b for a, b in zip(mine, paper[file], strict=True)], f"{threshold}, {slots}")

    def measures(self, part, file):
        """A part's ratio on each machine with each layout, out of the part's words."""
        def curves(file, apart):
            names = {"ticket": "ticket_apart", "TWA": "twa_apart"} if apart else {"ticket": "ticket", "TWA": "twa"}
            names |= {"MCS": "mcs", "qspinlock's algorithm": "qspin", "": "none"}
            threads = sorted({key[1] for key in self.all[file]})
            return {name: {number: self.of(file, lock, number, lambda row: float(row["millions_per_s"])) for number in threads}
                    for name, lock in names.items() if (lock, threads[0], 4096, 0) in self.all[file]}

        def of_one(curve, other):
            def ratio(one, two, threads):
                return one[threads] / two[threads]

            def within(name, least, most):
                return [number for number in curve[name] if least <= number <= most]

            locks = [curve[name] for name in ("ticket", "TWA", "MCS") if name in curve]
            beyond = lambda lock, number: max(value for threads, value in lock.items() if threads > number)
            if not file.startswith("coherence-diameter"):
                ticket, twa = curve["ticket"], curve["TWA"]
            last = "qspinlock's algorithm" if "qspinlock" in part else "MCS"
            return {
                "72 threads to 1": lambda: curve[""][72] / curve[""][1],
                "a point to the one before, the most":
                    lambda: max(b / a for a, b in zip(list(curve[""].values()), list(curve[""].values())[1:])),
                "ticket to the better of TWA and MCS, the least of 1 to 6 threads":
                    lambda: min(ticket[it] / max(twa[it], curve[last][it]) for it in within("ticket", 1, 6)),
                "ticket to the better of TWA and MCS, the least of 1 to 4 threads":
                    lambda: min(ticket[it] / max(twa[it], curve[last][it]) for it in (1, 2, 4)),
                "TWA to MCS, the least of 8 to 72 threads":
                    lambda: min(ratio(twa, curve["MCS"], it) for it in (8, 18, 36, 72)),
                "TWA to ticket, the least of 1 to 6 threads": lambda: min(ratio(twa, ticket, it) for it in within("TWA", 1, 6)),
                "ticket, 72 threads to 6": lambda: ticket[72] / ticket[6],
                "MCS, its least to its most of 24 to 72 threads":
                    lambda: min(curve["MCS"][it] for it in (24, 36, 48, 72)) / max(curve["MCS"][it] for it in (24, 36, 48, 72)),
                "MCS to ticket, the least of 24 to 72 threads":
                    lambda: min(ratio(curve["MCS"], ticket, it) for it in (24, 36, 48, 72)),
                "MCS to ticket, 18 threads": lambda: ratio(curve["MCS"], ticket, 18),
                "TWA to MCS, the least of all": lambda: min(ratio(twa, curve["MCS"], it) for it in twa),
                "2 threads to 1, the most of the locks": lambda: max(lock[2] / lock[1] for lock in locks),
                "the best beyond 1 thread to 1, the most of the locks": lambda: max(beyond(lock, 1) / lock[1] for lock in locks),
                "the best beyond 2 threads to 2, the least of the locks":
                    lambda: min(beyond(lock, 2) / lock[2] for lock in locks),
                "ticket, 72 threads to its best beyond 2": lambda: ticket[72] / beyond(ticket, 2),
                "MCS, 72 threads to 18": lambda: curve["MCS"][72] / curve["MCS"][18],
                "TWA to ticket with 72 threads, to the same of MutexBench":
                    lambda: ratio(twa, ticket, 72) / ratio(other["TWA"], other["ticket"], 72),
                "ticket to the better of TWA and qspinlock's algorithm, the least of 1 to 4 threads":
                    lambda: min(ticket[it] / max(twa[it], curve[last][it]) for it in (1, 2, 4)),
                "ticket, 72 threads to its best": lambda: ticket[72] / max(ticket.values()),
                "TWA to qspinlock's algorithm, the least of all": lambda: min(ratio(twa, curve[last], it) for it in twa),
            }[part]()

        found = []
        for apart in (False,) if file == "coherence-diameter" else (False, True):
            mine, bench = curves(file, apart), curves("coherence", apart)
            for machine in range(24):
                one = [{name: {number: rates[machine] for number, rates in curve.items()} for name, curve in of.items()}
                       for of in (mine, bench)]
                found.append(of_one(*one))
        return found

    FILES = {"1": "coherence-diameter", "4.1": "coherence", "4.2": "coherence-throw", "4.4": "coherence-leveldb", "4.6": "coherence-locktorture"}

    def test_the_verdicts(self):
        def verdict(held):
            return "held" if all(held) else "in part" if any(held) else "not"

        sentences = by(rows("paper.csv"), lambda row: row["sentence"], dict)
        self.assertEqual(len(sentences), 12)
        for sentence, parts in sentences.items():
            holds = []
            for part in parts:
                values = self.measures(part["part"], self.FILES[part["section"]])
                kind, bound = part["bound"].rsplit(" ", 1)
                held = [value >= float(bound) if kind == "at least" else value <= float(bound) for value in values]
                self.assertIn(kind, ("at least", "at most"))
                self.spread([part["least"], part["median"], part["most"]], values, part["part"])
                self.assertEqual((int(part["held"]), int(part["of"])), (sum(held), len(values)), part["part"])
                self.assertEqual(part["verdict"], verdict(held), part["part"])
                holds.append(held)
            whole = verdict([all(each) for each in zip(*holds)])
            self.assertEqual({part["sentence_verdict"] for part in parts}, {whole}, sentence)

    def test_the_page_has_the_verdicts(self):
        due, last = [], None
        for row in rows("paper.csv"):
            words = row["sentence"].split()
            shown = row["sentence"] if len(words) <= 20 else " ".join(words[:12]) + " ..."
            first = [row["section"], shown, row["sentence_verdict"]] if row["sentence"] != last else ["", "", ""]
            last = row["sentence"]
            held = f"{row['held']} of {row['of']}" if row["of"] else ""
            spread = f"{row['least']} to {row['most']}" if row["of"] else ""
            due.append([*first, row["part"], row["bound"], spread, held])
        heading = "| section | sentence | verdict | part | bound | least to most | held |"
        text = (RESULTS / "coherence.md").read_text().splitlines()
        self.assertEqual(text.count(heading), 1)
        lines = text[text.index(heading) + 2:][:len(due) + 1]
        self.assertEqual(lines, ["| " + " | ".join(cells) + " |" for cells in due] + [""])

    def test_the_findings(self):
        words, rate = self.words("coherence.md"), self.rate
        least = min(a / b for a, b in zip(self.of("coherence", "TWA, two lines", 72, rate),
                                          self.of("coherence", "ticket, two lines", 72, rate), strict=True))
        self.assertIn(f"With two lines there is a machine on which TWA has {least:.2f} of the ticket lock's throughput.", words)
        gains = sum(b > a for a, b in zip(*(self.of("coherence-diameter", "none", threads, rate) for threads in (2, 4))))
        self.assertIn(f"From 2 to 4 threads the writer gains on {gains} of the 24 machines.", words)
        few, many = ([a / b for a, b in zip(self.of("coherence-locktorture", "TWA", threads, rate),
                                            self.of("coherence-locktorture", "qspin", threads, rate))] for threads in (2, 72))
        self.assertIn(f"With 2 threads TWA has {min(few):.2f} to {max(few):.2f} of its rate, and with 72 more than it.", words)
        self.assertGreater(min(many), 1)
        failed = median(self.of("coherence-locktorture", "qspin", 72, lambda row: float(row["failed_exchanges"])))
        self.assertIn(f"With 72 threads {failed:.1f} of its exchanges fail an acquisition", words)


class BenchTable(unittest.TestCase):
    """bench-table makes the committed tables of what guests said, which is rebuilt from them."""

    def test_the_tables_of_the_guests(self):
        with tempfile.TemporaryDirectory() as folder:
            for kind, name in (("uncontended", "uncontended-raw"), ("writers", "contended"), ("latency", "latency")):
                for (kernel, boot), of in by(rows(f"{name}.csv"), lambda row: (row["kernel"], row["boot"]), dict).items():
                    at = pathlib.Path(folder, "raw", f"{kernel}-{boot}", kind)
                    at.parent.mkdir(parents=True, exist_ok=True)
                    with open(at, "w", newline="") as file:
                        table = csv.DictWriter(file, [column for column in of[0] if column not in ("kernel", "boot")],
                                               extrasaction="ignore", lineterminator="\n")
                        table.writeheader()
                        table.writerows(of)
                    if kind == "latency":
                        # A guest's table has a row for each writer, too.
                        with open(at, "a", newline="") as file:
                            csv.DictWriter(file, table.fieldnames, lineterminator="\n", extrasaction="ignore").writerow(
                                {**of[0], "writer": "1"})
            boots = len({row["boot"] for row in rows("contended.csv")})
            command = [str(TOP / "scripts/report/bench-table"), folder, str(boots)]
            with unittest.mock.patch.object(sys, "argv", command), contextlib.redirect_stdout(io.StringIO()) as printed:
                runpy.run_path(command[0], run_name="__main__")
            self.assertIn("uncontended", printed.getvalue())
            for name in ("uncontended-raw.csv", "uncontended.csv", "contended.csv", "latency.csv"):
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
