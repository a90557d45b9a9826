# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""make bench-user: its tables, computed here anew, and its knobs."""

import contextlib
import csv
import fractions
import io
import os
import pathlib
import runpy
import statistics
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from test_pairs import Samples

TOP = pathlib.Path(__file__).resolve().parents[2]

# Rates by program, threads, lock and round, in operations a second; a run lasts two seconds.
RATES = {
    ("leveldb", 4): {"glibc": (100, 300, 200), "ticket": (30, 60, 120), "mcs": (90, 33, 40), "ttas": (400, 150, 180)},
    ("leveldb", 1): {"glibc": (10, 10, 10), "ticket": (9, 8, 7), "mcs": (10, 11, 12), "ttas": (10, 10, 20)},
    ("throw", 2): {"glibc": (7, 9, 8), "ticket": (7, 9, 8), "mcs": (14, 9, 4), "ttas": (21, 9, 8)},
}
LOCKS = ("glibc", "ticket", "mcs", "ttas")


def middle(numbers):
    """The median of three."""
    return sum(numbers) - min(numbers) - max(numbers)


class Table(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)

    def write(self, leave_out=()):
        """The raw data. Another lock begins in each round, as in the benchmark."""
        with open(self.out / "user-raw.csv", "w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["program", "threads", "run", "lock", "ops", "seconds"])
            for run in range(3):
                for (program, threads), rates in RATES.items():
                    for turn in range(4):
                        lock = LOCKS[(turn + run) % 4]
                        if (program, lock, run) not in leave_out:
                            table.writerow([program, threads, run + 1, lock, 2 * rates[lock][run], "2.000000"])
        with open(self.out / "user-locks.csv", "w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["program", "lock", "threads", "ops", "locks", "contended"])
            table.writerows([[program, lock, 4, 100, 100 * (6 if program == "leveldb" else 7) + 1, 3]
                             for program in ("leveldb", "throw") for lock in LOCKS[1:]])

    def run_it(self):
        printed = io.StringIO()
        with unittest.mock.patch.object(sys, "argv", ["user-table", str(self.out)]), contextlib.redirect_stdout(printed):
            runpy.run_path(str(TOP / "scripts/report/user-table"), run_name="__main__")
        return printed.getvalue().splitlines()

    def test_figures(self):
        self.write()
        self.run_it()
        with open(self.out / "user.csv", newline="") as file:
            found = list(csv.DictReader(file))
        due = [(program, threads, lock) for program, threads in (("leveldb", 1), ("leveldb", 4), ("throw", 2)) for lock in LOCKS]
        self.assertEqual([(row["program"], int(row["threads"]), row["lock"]) for row in found], due)
        for row in found:
            rates = RATES[row["program"], int(row["threads"])]
            mine = rates[row["lock"]]
            self.assertEqual([int(row[name]) for name in ("runs", "ops_per_s", "ops_per_s_min", "ops_per_s_max")],
                             [3, middle(mine), min(mine), max(mine)], row)
            ratios = [fractions.Fraction(rate, base) for rate, base in zip(mine, rates["glibc"])]
            self.assertEqual([row[name] for name in ("ratio", "ratio_min", "ratio_max")],
                             [f"{float(ratio):.3f}" for ratio in (middle(ratios), min(ratios), max(ratios))], row)

    def test_tables(self):
        self.write()
        lines = self.run_it()
        at = lines.index("### leveldb")
        self.assertEqual(lines[at + 1:at + 7], [
            "Locks an operation, with statistics on: ticket 6.0, mcs 6.0, ttas 6.0.", "",
            "| threads | glibc, op/s | ticket | mcs | ttas |", "|---|---|---|---|---|",
            "| 1 | 10 | 0.800 (0.700 to 0.900) | 1.100 (1.000 to 1.200) | 1.000 (1.000 to 2.000) |",
            "| 4 | 200 | 0.300 (0.200 to 0.600) | 0.200 (0.110 to 0.900) | 0.900 (0.500 to 4.000) |"])
        self.assertIn("Locks an operation, with statistics on: ticket 7.0, mcs 7.0, ttas 7.0.", lines)

    def test_the_bound(self):
        self.write()
        self.assertEqual(self.run_it()[-1], "leveldb, 4 threads: the slowest FIFO lock is mcs, with 0.200 of glibc's rate, below 0.25. "
                                            "The control, ttas, has 0.900.")
        with unittest.mock.patch.dict(RATES, {("leveldb", 4): {**RATES["leveldb", 4], "mcs": (25, 75, 50)}}):
            self.write()
            self.assertIn("is mcs, with 0.250 of glibc's rate, at least 0.25.", self.run_it()[-1])

    def test_the_bound_is_not_on_the_control(self):
        with unittest.mock.patch.dict(RATES, {("leveldb", 4): {**RATES["leveldb", 4], "ttas": (1, 3, 2)}}):
            self.write()
            self.assertIn("is mcs, with 0.200 of glibc's rate, below 0.25. The control, ttas, has 0.010.", self.run_it()[-1])

    def test_rounds_that_differ(self):
        self.write(leave_out=[("leveldb", "mcs", 1)])
        with self.assertRaisesRegex(SystemExit, "leveldb, 4 threads: mcs has other rounds than glibc"):
            self.run_it()


class Page(unittest.TestCase):
    """The committed page has the tables of the data beside it."""

    def test_the_tables_as_printed(self):
        report = runpy.run_path(str(TOP / "scripts/report/user-table"))
        data = TOP / "docs/results/data"
        found = report["figures"](report["read"](data / "user-raw.csv"))
        page = (TOP / "docs/results/user.md").read_text()
        self.assertIn("\n".join(report["tables"](found, report["read"](data / "user-locks.csv"))), page)
        self.assertIn(report["bound"](found), page)
        self.assertEqual([{key: str(value) for key, value in row.items()} for row in found], report["read"](data / "user.csv"))
        # What the page says of LevelDB.
        ratios = {(int(row["threads"]), row["lock"]): float(row["ratio"]) for row in found if row["program"] == "leveldb"}
        self.assertGreaterEqual(min(ratios[4, lock] for lock in ("twa", "one-word-twa")), 1)
        self.assertLess(max(ratios[4, lock] for lock in ("ticket", "mcs", "clh")), 0.5)
        self.assertLess(max(ratios[8, lock] for lock in ("ticket", "twa", "one-word-twa", "mcs", "clh")), 0.05)
        # Each lock takes locks of ours in each program, and each has as many rounds as any.
        self.assertEqual(len({row["runs"] for row in found}), 1)
        self.assertEqual(len(found), 5 * 4 * 7)


class SixteenCpus(unittest.TestCase):
    """The page of 16 CPUs, from its raw data."""

    PAGE = " ".join((TOP / "docs/results/user-16.md").read_text().split())
    LINES = (TOP / "docs/results/user-16.md").read_text().splitlines()

    @staticmethod
    def rows(name):
        with open(TOP / f"docs/results/data/user-16-{name}.csv", newline="") as file:
            return list(csv.DictReader(file))

    def ratios(self, wait, base, library=None):
        """{(program, threads, lock): [a ratio a round]}"""
        rates = {(row["program"], int(row["threads"]), row["run"], row["lock"]): int(row["ops"]) / float(row["seconds"])
                 for row in self.rows(f"{wait}-raw") if row.get("library") == library}
        found = {}
        for (program, threads, run, lock), rate in rates.items():
            found.setdefault((program, threads, lock), []).append(rate / rates[program, threads, run, base])
        return found

    @staticmethod
    def cell(values):
        least, *_, most = ordered = sorted(values)
        return f"{statistics.median(ordered):.2f} ({least:.2f} to {most:.2f})"

    def test_the_tables(self):
        for wait, base, library, more in (("spin", "ticket", None, ""), ("park", "glibc", "after", ", parking"),
                                          ("park", "glibc", "before", ", parking, before")):
            found = self.ratios(wait, base, library)
            self.assertEqual({len(rounds) for rounds in found.values()}, {3})
            lines = 0
            for (program, threads, _) in found:
                table = self.LINES[self.LINES.index(f"### {program}{more}") + 1:]
                locks = table[0].strip("| ").split(" | ")[1:]
                due = f"| {threads} | " + " | ".join(self.cell(found[program, threads, lock]) for lock in locks) + " |"
                self.assertIn(due, table[:8])
                self.assertEqual(set(locks) | {base}, {lock for name, _, lock in found if name == program})
                lines += 1
            self.assertEqual(lines, len(found))

    def test_the_log_of_two_cpus(self):
        """The table of both libraries, and where their rounds do not overlap."""
        with open(TOP / "docs/results/data/user-look-on.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        log = (TOP / "docs/results/log.md").read_text().splitlines()
        rates = {(row["library"], row["program"], row["threads"], row["run"], row["lock"]): int(row["ops"]) / float(row["seconds"]) for row in rows}
        found = {}
        for (library, program, threads, run, lock), rate in rates.items():
            if lock != "glibc":
                found.setdefault((program, threads, lock), {}).setdefault(library, []).append(
                    rate / rates[library, program, threads, run, "glibc"])
        self.assertEqual(len(found), 24)
        for (program, threads, lock), both in found.items():
            self.assertIn(f"| {program} | {threads} | {lock} | {self.cell(both['before'])} | {self.cell(both['after'])} |", log)
        apart = {at for at, both in found.items() if max(both["after"]) < min(both["before"]) or max(both["before"]) < min(both["after"])}
        self.assertEqual(apart, {("leveldb", "4", "mcs")})

    def test_the_simulated_ones(self):
        rates = {(row["workload"], row["lock"], int(row["threads"]), row["machine"]): float(row["millions_per_s"])
                 for row in self.rows("simulated")}
        self.assertEqual({row["topology"] for row in self.rows("simulated")}, {"1x16x1"})
        measured, above = self.ratios("spin", "ticket"), set()
        for program in ("mutexbench", "leveldb"):
            for lock in ("twa", "one-word-twa", "mcs", "clh", "ttas"):
                simulated = [rate / rates[program, "ticket", 16, at] for (name, of, threads, at), rate in rates.items()
                             if (name, of, threads) == (program, lock.replace("-", "_"), 16)]
                self.assertEqual(len(simulated), 24)
                here = measured[program, 16, lock]
                self.assertIn(f"| {program} | {lock} | {self.cell(here)} | {self.cell(simulated)} |", self.LINES)
                self.assertGreaterEqual(statistics.median(here), min(simulated))
                if statistics.median(here) > max(simulated):
                    above.add((program, lock))
        self.assertEqual(above, {("leveldb", lock) for lock in ("one-word-twa", "clh", "ttas")})

    def test_what_the_page_says(self):
        spin, before, after = self.ratios("spin", "ticket"), self.ratios("park", "glibc", "before"), self.ratios("park", "glibc", "after")
        middle = {at: statistics.median(rounds) for at, rounds in spin.items()}
        said = [f"{middle[program, 16, 'twa']:.2f}" for program in ("mutexbench", "stress_latency", "leveldb")]
        self.assertIn(f"TWA has {said[0]} times the ticket lock's rate in MutexBench, {said[1]} in stress_latency, and {said[2]} in LevelDB.",
                      self.PAGE)
        self.assertEqual([middle[program, 16, "mcs"] > middle[program, 16, "twa"] for program in ("mutexbench", "stress_latency", "leveldb")],
                         [True, False, True])
        fifo = ("ticket", "twa", "one-word-twa", "mcs", "clh")
        for lock in fifo:
            self.assertLess(statistics.median(before["mutexbench", 16, lock]), 0.035)
            for program in ("mutexbench", "leveldb"):
                self.assertGreater(min(after[program, 16, lock]), 5 * max(before[program, 16, lock]))
                for threads in (12, 16):
                    self.assertLess(max(before[program, threads, lock]), 0.11)
                    self.assertGreater(statistics.median(after[program, threads, lock]), 0.5)
        least = [float(row["least_ns"]) for row in self.rows("transfers")]
        self.assertIn(f"{min(least):.0f} to {max(least):.0f} ns between CPU 0 and each other CPU", self.PAGE)
        self.assertEqual(len(least), 15)
        contended = Samples("16-contended", "std")
        self.assertIn(contended.by_shape(16), "\n".join(self.LINES))
        for lock, factor in (("TwaMutex", "3.8"), ("OneWordTwaMutex", "1.2")):
            self.assertAlmostEqual(float(statistics.median(contended.ratios("16 / 100000", lock))), float(factor), delta=0.05)
        self.assertIn("3.8 times std's time with 100,000 locks. One-word TWA, which touches the array only where somebody waits, takes 1.2 times.",
                      self.PAGE)


# A program that plays all: it prints as each does, and notes how it was called.
STUB = """#!/bin/sh
echo "$(basename "$0") $* $LD_PRELOAD" >>"$NOTES"
case $(basename "$0") in
handover-run)
	shift 2
	lock=$2 stats=
	case " $* " in *" --stats "*) stats=1 ;; esac
	while [ "$1" != -- ]; do shift; done
	shift
	"$@" || exit
	[ -z "$stats" ] || echo "handover: lock=$lock wait=park locks=$TAKEN contended=5 left_mutexes=$LEFT" >&2 ;;
db_bench)
	mkdir -p rocksdb && echo more >>rocksdb/log
	grep -c . rocksdb/log >>"$NOTES.sizes"
	echo "readwhilewriting :  9.5 micros/op 70 ops/sec 2.500 seconds 175 operations;    4.5 MB/s (10 of 10 found)" ;;
*) echo "ops=80 wrong=0 seconds=0.500000" ;;
esac
"""


class Runs(unittest.TestCase):
    """What is run, in which order, and what ends the benchmark."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = pathlib.Path(folder.name)
        for name in ("handover-run", "db_bench", "mutexbench", "throw", "stress_latency", "readrandom"):
            (self.at / name).write_text(STUB)
            (self.at / name).chmod(0o755)

    def run_it(self, programs, taken=200, left=0):
        """What ended it; None is a good end."""
        environment = {"PATH": f"{self.at}:{os.environ['PATH']}", "PROGRAMS": programs, "LOCKS": "glibc,twa,mcs", "THREADS": "1,4",
                       "RUNS": "3", "SECS": "2", "WAIT": "park", "CPUS": "1", "NOTES": str(self.at / "notes"),
                       "TAKEN": str(taken), "LEFT": str(left)}
        with (unittest.mock.patch.dict(os.environ, environment), contextlib.redirect_stdout(io.StringIO()),
              unittest.mock.patch.object(sys, "argv", ["user_runs.py", str(self.at), str(self.at)]),
              unittest.mock.patch.object(os, "sched_setaffinity") as affinity):
            try:
                runpy.run_path(str(TOP / "scripts/lib/user_runs.py"), run_name="__main__")
            except SystemExit as end:
                return str(end)
            finally:
                affinity.assert_called_once_with(0, sorted(os.sched_getaffinity(0))[:1])
        return None

    def rows(self, name):
        with open(self.at / name, newline="") as file:
            return list(csv.DictReader(file))

    def test_locks_take_turns(self):
        programs = ["mutexbench", "throw", "stress_latency", "leveldb", "rocksdb"]
        self.assertIsNone(self.run_it(",".join(programs)))
        raw = self.rows("user-raw.csv")
        turns = [("glibc", "twa", "mcs"), ("twa", "mcs", "glibc"), ("mcs", "glibc", "twa")]
        self.assertEqual([(row["run"], row["program"], row["threads"], row["lock"]) for row in raw],
                         [(str(run + 1), program, threads, lock) for run in range(3) for program in programs
                          for threads in ("1", "4") for lock in turns[run]])
        for row in raw:
            due = (175, 2.5) if row["program"] == "rocksdb" else (80, 0.5)
            self.assertEqual((int(row["ops"]), float(row["seconds"])), due)
        self.assertEqual([(row["program"], row["lock"], row["threads"], row["ops"], row["locks"]) for row in self.rows("user-locks.csv")],
                         [(program, lock, "4", "175" if program == "rocksdb" else "80", "200")
                          for program in programs for lock in ("twa", "mcs")])

    def test_what_is_run(self):
        self.run_it("throw,rocksdb,leveldb")
        notes = (self.at / "notes").read_text().splitlines()
        for line in notes:
            name = line.split()[0]
            # The unwinder's lock is put back for one program alone, with and without ours.
            self.assertEqual("find_object.so" in line, name == "throw" or "/throw " in line, line)
            if name == "handover-run":
                self.assertIn(f"--library {self.at}/libhandover.so --lock ", line)
                self.assertIn(" --wait park ", line)
        ours = [line for line in notes if line.startswith("handover-run")]
        # Three programs, two locks: three rounds at two numbers of threads, and a run with statistics. The timed ones have none.
        # Of each database one thread is profiled, before them.
        profiled = [line for line in ours if " --profile " in line]
        self.assertEqual(len(ours) - len(profiled), 3 * 2 * (3 * 2 + 1))
        self.assertEqual(sum(" --stats " in line for line in ours), 3 * 2)
        self.assertEqual(sum(" --lock twa " in line and f" --profile {self.at}/profile-{name}.csv -- " in line and after in line
                             for line, name, after in zip(profiled, ("leveldb", "rocksdb"),
                                                          ("leveldb 20000 1 seconds 2", "--threads=1 --duration=2"), strict=True)), 2)
        self.assertEqual(ours[6:8], profiled)
        # RocksDB was filled once, and each run begins with those files.
        sizes = (self.at / "notes.sizes").read_text().split()
        self.assertEqual(sizes, ["1"] + ["2"] * (3 * 3 * 2 + 2 + 1))

    def test_a_library_that_is_not_there(self):
        for taken, left in ((79, 0), (0, 0), (200, 1)):
            self.assertEqual(self.run_it("mutexbench", taken, left), "bench-user: mutexbench, twa, 4 threads: 80 operations took "
                                                                     f"{taken} locks, and left {left} calls to glibc")

    def test_a_program_that_fails(self):
        (self.at / "mutexbench").write_text("#!/bin/sh\necho some of which were lost >&2\nexit 1\n")
        self.assertIn("exit 1: some of which were lost", self.run_it("mutexbench"))


class Knobs(unittest.TestCase):
    """A wrong one is refused with one line, before anything is built."""

    def test_refused(self):
        for knob, value, allowed in (
                ("SECS", "0", "1 to 1000"), ("RUNS", "x", "1 to 100"), ("CPUS", "0", f"1 to {len(os.sched_getaffinity(0))}"),
                ("DEBIAN", "11", "12 to 13"), ("WAIT", "sleep", "park yield spin, by comma"), ("THREADS", "1,0", "1 to 1024"),
                ("PROGRAMS", "throw,catch", "mutexbench throw stress_latency leveldb rocksdb, by comma"),
                ("LOCKS", "glibc,tas", "glibc ticket twa one-word-twa mcs clh ttas, by comma")):
            ended = subprocess.run([TOP / "scripts/bench-user"], env={**os.environ, knob: value}, capture_output=True, text=True,
                                   check=False)
            said = value.rpartition(",")[2] if knob == "THREADS" else value
            self.assertEqual((ended.returncode, ended.stdout, ended.stderr),
                             (1, "", f"handover: error: bench-user: {knob}={said}: allowed: {allowed}\n"))
        ended = subprocess.run([TOP / "scripts/bench-user"], env={**os.environ, "LOCKS": "twa"}, capture_output=True, text=True, check=False)
        self.assertIn("glibc must be among them", ended.stderr)
