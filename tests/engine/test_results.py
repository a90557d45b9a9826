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

    def words(self, page):
        """The page with its lines joined."""
        return " ".join((RESULTS / page).read_text().split())

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

    def test_more_virtual_cpus_than_cpus(self):
        rates = by(rows("oversubscribed.csv"), lambda row: row["lock"],
                   lambda row: int(row["acquisitions"]) / float(row["seconds"]))
        said = [line.groups() for line in self.lines("kernel.md", r"\| `?(\w+)`? \| ([\d,]+) to ([\d,]+) \|")]
        self.assertEqual([lock for lock, _, _ in said], list(rates))
        for lock, least, most in said:
            self.same(least.replace(",", ""), min(rates[lock]), lock)
            self.same(most.replace(",", ""), max(rates[lock]), lock)

    def test_the_findings(self):
        boots = {}  # of writers: the ratio of each boot, by lock and point
        rates = {(row["lock"], row["kernel"], row["writers"], row["boot"]): int(row["acquisitions"]) / float(row["seconds"])
                 for row in rows("contended.csv")}
        for (lock, *point), rate in rates.items():
            boots.setdefault((lock, *point[:2]), []).append(rate / rates["raw_spin_lock", *point])

        def medians(lock):
            found = [median(each) for (name, *_), each in boots.items() if name == lock]
            return min(found), max(found)

        def single(lock):
            return [ratio for (name, *_), each in boots.items() if name == lock for ratio in each]

        words, twa = self.words("kernel.md"), single("twa")
        least, most = medians("twa")
        self.assertIn(f"TWA's medians are {100 - 100 * most:.0f} to {100 - 100 * least:.0f} % below the kernel's lock. "
                      f"Of {len(twa)} boots {sum(ratio < 1 for ratio in twa)} are below it.", words)
        off = max(abs(100 * ratio - 100) for ratio in medians("ticket"))
        self.assertIn(f"ticket's medians are within {off:.0f} % of the kernel's lock", words)
        noise = [*medians("spin_lock"), min(single("spin_lock")), max(single("spin_lock"))]
        self.assertIn("The medians are {:.2f} to {:.2f}, single boots {:.2f} to {:.2f}.".format(*noise), words)
        pair = by(rows("uncontended.csv"), lambda row: row["lock"], lambda row: float(row["ratio"]))
        self.assertIn("ticket takes {:.2f} to {:.2f} of the kernel's time, and TWA {:.2f} to {:.2f}.".format(
            *sorted(pair["ticket"]), *sorted(pair["twa"])), words)


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
