# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""The tables on the pages of docs/results are those of the data beside them, computed here anew."""

import contextlib
import csv
import io
import pathlib
import re
import runpy
import sys
import tempfile
import unittest
import unittest.mock
from statistics import median

from page import RESULTS, TOP, Page, by, rows


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
        tables = re.split(r"^(?=contended|latency)", printed.getvalue(), flags=re.MULTILINE)
        self.assertEqual([table.split()[0] for table in tables], ["uncontended", "contended", "latency"])
        for table in tables:
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

    def test_half_of_the_times_are_before_the_median(self):
        half = runpy.run_path(str(TOP / "scripts/report/bench-table"))["half"]
        for histogram, due in (("6=4+8=4", 64), ("6=4+7=4+8=8", 128), ("7=4", 96), ("7=3", 96), ("6=2+8=6", 128 + 128 / 3), ("0=3+9=1", 2 / 3)):
            count = sum(int(word.split("=")[1]) for word in histogram.split("+"))
            self.assertAlmostEqual(half({"count": str(count), "histogram": histogram, "tsc_khz": "1000000"}), due)


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
