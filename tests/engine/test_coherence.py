# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""The page of the simulated CPUs says what their tables say, computed here anew."""

import csv
from statistics import median

from page import RESULTS, Page, by, rows


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
