#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""tried.py FOLDER [LONG] : programs under handover-run, in this root. FOLDER has the library and the compiled programs. Prints a
verdict for each program and lock: the program's result, and the calls that three counted. The three are the program itself,
the library that stands before ours, and our statistics.

With LONG, each program runs again and again for so many seconds, under each lock and way to wait. Programs whose threads park
run four at a time, so that threads are more than CPUs. Half of the combinations are this root's."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

LOCKS = ("twa", "ticket", "one-word-twa", "mcs", "clh", "ttas")
WAITS = ("park", "yield", "spin")
HERE = pathlib.Path(__file__).parent
LIMIT_S, LONG_LIMIT_S = 60, 900
# The argument of a program whose threads spin, by which it divides what it does.
SLOW = ("500",)


class Wrong(Exception):
    """What differs from what is due."""


def due(what, found, wanted):
    if found != wanted:
        raise Wrong(f"{what} is {found}, due is {wanted}")


def numbers(text, begin=""):
    """The numbers of the last line that begins so: name=number name=number."""
    lines = [line for line in text.splitlines() if line.startswith(begin) and "=" in line]
    if not lines:
        raise Wrong(f"no line {begin!r} in: {text[-300:]}")
    pairs = (word.split("=", 1) for word in lines[-1].split() if "=" in word)
    return {name: int(value) for name, value in pairs if value.lstrip("-").isdigit()}


class Runs:
    """How a program is run: the folder of the compiled ones, the lock, the way to wait."""

    def __init__(self, folder, lock, wait, limit_s=LIMIT_S):
        self.limit_s = limit_s
        self.folder, self.lock, self.wait = pathlib.Path(folder), lock, wait
        self.place = pathlib.Path(tempfile.mkdtemp())

    def program(self, name):
        return str(self.folder / name)

    def __call__(self, *command, given="", counted=True):
        """What the program says, and how often it called each function. `counted`: by the library before ours, too."""
        ours = self.program("libhandover.so")
        line = [self.program("handover-run"), "--library", ours, "--stats", "--lock", self.lock, "--wait", self.wait, "--"]
        if counted:
            line += ["env", f"LD_PRELOAD={self.program('calls.so')}:{ours}"]
        try:
            ended = subprocess.run([*line, *map(str, command)], input=given, capture_output=True, text=True, check=False,
                                   timeout=self.limit_s, cwd=self.place)
        except subprocess.TimeoutExpired:
            raise Wrong(f"{command[0]}: no end within {self.limit_s} s") from None
        if ended.returncode:
            raise Wrong(f"{command[0]}: exit {ended.returncode}: {ended.stderr[-300:]}")
        stats = numbers(ended.stderr, f"handover: lock={self.lock} wait={self.wait} ")
        if counted:
            for name, number in numbers(ended.stderr, "calls:").items():
                due(name, stats[name], number)
        if not stats["locks"]:
            raise Wrong("no lock was taken")
        return ended.stdout, stats


def counts_itself(name, whole=()):
    """A program that prints how often it has called each function. `whole` is its argument where threads do not spin."""
    def tried(runs):
        said, stats = runs(runs.program(name), *(SLOW if runs.wait == "spin" else whole), counted=False)
        own = numbers(said)
        if len(own) < 10:
            raise Wrong(f"it counts {len(own)} functions")
        for call, number in own.items():
            due(call, stats[call], number)
        return f"{stats['locks']} locks"
    return tried


def cpp(runs):
    """In C++: it counts itself, and the library before ours counts as well."""
    said, stats = runs(runs.program("std"), *(SLOW if runs.wait == "spin" else ()))
    for call, number in numbers(said).items():
        due(call, stats[call], number)
    due("left_mutexes", stats["left_mutexes"], 6)
    return f"{stats['locks']} locks"


def python(runs):
    """Threads, a pool, a child; then SQLite from threads, whose recursive mutexes are glibc's."""
    due("its result", runs("python3", HERE / "threads.py")[0], "done\n")
    (runs.place / "rows").unlink(missing_ok=True)
    said, stats = runs("python3", HERE / "databases.py", "rows")
    due("its result", said, "done\n")
    due("left_conds", stats["left_conds"], 0)
    if not stats["left_mutexes"]:
        raise Wrong("SQLite's recursive mutexes are not glibc's")
    return f"{stats['locks']} locks, {stats['left_mutexes']} calls left to glibc"


def sqlite(runs):
    """The shell, with four threads that sort."""
    said, stats = runs("sqlite3", ":memory:", given=(HERE / "sort.sql").read_text())
    due("its result", said.split()[-1], "60000|1799970000")
    if not stats["left_mutexes"]:
        raise Wrong("SQLite's recursive mutexes are not glibc's")
    return f"{stats['locks']} locks, {stats['left_mutexes']} calls left to glibc"


KEYS, THREADS, GETS = 20000, 4, 2000


def leveldb(runs):
    """Each get takes as many locks as any other: twice as many gets, and the difference is a multiple of them."""
    keys = runs.place / "leveldb"
    if not keys.exists():
        runs(runs.program("readrandom"), keys, KEYS)
    locks = []
    for gets in (GETS, 2 * GETS):
        said, stats = runs(runs.program("readrandom"), keys, KEYS, THREADS, "gets", gets)
        due("ops", numbers(said)["ops"], THREADS * gets)
        due("wrong", numbers(said)["wrong"], 0)
        due("left to glibc", stats["left_mutexes"] + stats["left_conds"], 0)
        due("unlocks", stats["unlocks"], stats["locks"] + stats["try_locks"])
        locks.append(stats["locks"])
    each, rest = divmod(locks[1] - locks[0], THREADS * GETS)
    due("rest of the locks of each get", rest, 0)
    if each < 2:
        raise Wrong(f"a get takes {each} locks")
    return f"{each} locks a get"


def rocksdb(runs):
    """Debian's db_bench: nothing is left to glibc."""
    shutil.rmtree(runs.place / "rocksdb", ignore_errors=True)
    said, stats = runs(
        "db_bench", "--benchmarks=fillseq,readwhilewriting", "--num=10000", "--reads=2000", f"--threads={THREADS}",
        "--db=rocksdb", "--compression_type=none", "--disable_wal=true")
    found = [line for line in said.splitlines() if line.startswith("readwhilewriting")]
    if not found or f" {THREADS * 2000} operations;" not in found[0] or "(2000 of 2000 found)" not in found[0]:
        raise Wrong(f"it said {found}")
    due("left to glibc", stats["left_mutexes"] + stats["left_conds"], 0)
    if stats["locks"] < THREADS * 2000:
        raise Wrong(f"{stats['locks']} locks")
    return f"{stats['locks']} locks"


def bench(name):
    """A program of make bench-user, which fails if a section was lost. Each of its operations is a lock."""
    def tried(runs):
        said, stats = runs(runs.program(name), THREADS, 1, counted=False)
        due("locks", stats["locks"], numbers(said)["ops"])
        due("unlocks", stats["unlocks"], stats["locks"])
        return f"{stats['locks']} locks"
    return tried


def leveldb_for_a_second(runs):
    """As long as the clock says: threads that spin, and are more than CPUs, are slow."""
    keys = runs.place / "leveldb"
    if not keys.exists():
        runs(runs.program("readrandom"), keys, KEYS)
    said, stats = runs(runs.program("readrandom"), keys, KEYS, THREADS, "seconds", 1)
    due("wrong", numbers(said)["wrong"], 0)
    due("left to glibc", stats["left_mutexes"] + stats["left_conds"], 0)
    return f"{stats['locks']} locks"


OF_C = {name: counts_itself(name) for name in ("mutexes", "conditions", "forks", "threads", "order")}
REAL = {"C++": cpp, "Python": python, "SQLite": sqlite, "LevelDB": leveldb, "RocksDB": rocksdb}


def verdict(root, name, tried, runs):
    """Whether it is as is due. What was seen stands in a remark."""
    try:
        seen = tried(runs)
        print(f"# programs: {root}: {name}: {seen}\nok programs: {root}: {name}", flush=True)
        return 0
    except Wrong as why:
        print(f"not ok programs: {root}: {name}: {' '.join(str(why).split())}", flush=True)
        return 1


def once(folder, root):
    failed = 0
    for number, (name, tried) in enumerate((OF_C | REAL).items()):
        for lock in LOCKS if name in REAL else [LOCKS[number % len(LOCKS)]]:
            runs = Runs(folder, lock, "park")
            failed |= verdict(root, f"{name}, {lock}", tried, runs)
            shutil.rmtree(runs.place)
    return failed


# An argument of 1 divides nothing.
STRESSED = REAL | {"LevelDB": leveldb_for_a_second, "conditions of C": counts_itself("conditions", ("1",)),
                   "MutexBench": bench("mutexbench"), "stress_latency": bench("stress_latency")}


def again(folder, lock, wait, tried, seconds):
    """Runs until the time is over; how often."""
    runs, times, begin = Runs(folder, lock, wait, LONG_LIMIT_S), 0, time.monotonic()
    while time.monotonic() - begin < seconds:
        tried(runs)
        times += 1
    shutil.rmtree(runs.place)
    return f"{times} times in {time.monotonic() - begin:.0f} s"


def stress(folder, root, seconds):
    """Each combination of lock and way to wait in one of the roots, each program in each."""
    failed = 0
    for number, (wait, lock) in enumerate((wait, lock) for wait in WAITS for lock in LOCKS):
        if (number % len(LOCKS) + number // len(LOCKS)) % 2 != (root == "debian-13"):
            continue
        with concurrent.futures.ThreadPoolExecutor(4 if wait == "park" else 1) as pool:
            def one(name, lock=lock, wait=wait):
                return verdict(root, f"{name}, {lock}, {wait}, {seconds} s",
                               lambda _: again(folder, lock, wait, STRESSED[name], seconds), None)
            failed |= max(pool.map(one, STRESSED))
    return failed


def main():
    folder, root = sys.argv[1], os.environ["ROOT"]
    return stress(folder, root, int(sys.argv[2])) if len(sys.argv) > 2 else once(folder, root)


if __name__ == "__main__":
    sys.exit(main())
