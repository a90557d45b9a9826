#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""user_runs.py FOLDER OUT : each benchmark under each lock, at each number of threads. FOLDER has the compiled programs and the library.
The locks take turns, and another one begins in each round. Writes OUT/user-raw.csv, a row a run. Before the rounds each lock
runs once with statistics: OUT/user-locks.csv has how many locks were taken, which a program that takes none of ours ends.
OUT/profile-PROGRAM.csv has the mutexes of a database with one thread.

The environment has PROGRAMS, LOCKS and THREADS as lists by comma, RUNS, SECS, WAIT, CPUS."""

import csv
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAMS = ("mutexbench", "throw", "stress_latency", "leveldb", "rocksdb")
# Those of which the simulator takes sections (rust/coherence/profiles).
PROFILED = ("leveldb", "rocksdb")
LOCKS = ("glibc", "ticket", "twa", "one-word-twa", "mcs", "clh", "ttas")
# The fewest locks an operation that prove that the library was there. RocksDB finds in memory, without one, what its writer has
# just written.
LEAST = {"mutexbench": 1, "throw": 1, "stress_latency": 1, "leveldb": 2, "rocksdb": 0.1}
# What the databases hold; the rest is as in the TWA paper, sections 4.4 and 4.5.
KEYS, ROCKSDB_KEYS = 20000, 100000
ROCKSDB = ("--compression_type=none", "--mmap_read=1", "--mmap_write=1", "--cache_size=100000", "--cache_numshardbits=0",
           "--sync=0", "--verify_checksum=0", f"--num={ROCKSDB_KEYS}", "--db=rocksdb")


class Benchmarks:
    """The programs, by name: what each is called with, and what it prints."""

    def __init__(self, folder, wait):
        self.folder, self.wait = pathlib.Path(folder), wait
        self.place = pathlib.Path(tempfile.mkdtemp())

    def file(self, name):
        return str(self.folder / name)

    def fill(self, programs):
        if "leveldb" in programs:
            self.said([self.file("readrandom"), "leveldb", str(KEYS)])
        if "rocksdb" in programs:
            self.said(["db_bench", "--benchmarks=fillseq", *ROCKSDB])
            (self.place / "rocksdb").rename(self.place / "filled")

    def said(self, command, more=None):
        ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.place,
                               env={**os.environ, **(more or {})})
        if ended.returncode:
            sys.exit(f"bench-user: {' '.join(command)}: exit {ended.returncode}: {ended.stderr[-500:]}")
        return ended.stdout, ended.stderr

    def command(self, name, threads, seconds):
        if name == "leveldb":
            return [self.file("readrandom"), "leveldb", str(KEYS), str(threads), "seconds", str(seconds)]
        if name == "rocksdb":
            # Its writer fills the files: each run has the same ones. It takes whole seconds.
            shutil.rmtree(self.place / "rocksdb", ignore_errors=True)
            shutil.copytree(self.place / "filled", self.place / "rocksdb")
            return ["db_bench", "--benchmarks=readwhilewriting", "--use_existing_db=1", f"--threads={threads}",
                    f"--duration={max(1, round(seconds))}", *ROCKSDB]
        return [self.file(name), str(threads), str(seconds)]

    def run(self, name, lock, threads, seconds, *options):
        """(operations, seconds, statistics) of a run, with options of handover-run."""
        command = self.command(name, threads, seconds)
        if lock != "glibc":
            command = [self.file("handover-run"), "--library", self.file("libhandover.so"), "--lock", lock, "--wait", self.wait,
                       *options, "--", *command]
        said, told = self.said(command, {"LD_PRELOAD": self.file("find_object.so")} if name == "throw" else None)
        if name == "rocksdb":
            # The rate that it prints is that of a run in which each thread ends by itself.
            found = re.search(r"^readwhilewriting +:.* ops/sec ([0-9.]+) seconds ([0-9]+) operations;", said, re.MULTILINE)
            took, ops = found.groups() if found else (0, 0)
        else:
            found = re.search(r"^ops=([0-9]+) .*seconds=([0-9.]+)$", said, re.MULTILINE)
            ops, took = found.groups() if found else (0, 0)
        if not float(took):
            sys.exit(f"bench-user: {' '.join(command)}: it said: {said[-500:]}")
        line = [line for line in told.splitlines() if line.startswith(f"handover: lock={lock} ")]
        counts = dict(word.split("=") for word in line[-1].split() if "=" in word) if line else {}
        return int(ops), float(took), counts


def proof(benchmarks, name, lock, threads, seconds):
    """A run with statistics. The operations take locks, and none of them is glibc's."""
    ops, _, counts = benchmarks.run(name, lock, threads, seconds, "--stats")
    taken, left = int(counts.get("locks", 0)), int(counts.get("left_mutexes", -1))
    if left or taken < LEAST[name] * ops:
        sys.exit(f"bench-user: {name}, {lock}, {threads} threads: {ops} operations took {taken} locks, and left {left} calls to glibc")
    return [name, lock, threads, ops, taken, counts["contended"]]


def main():
    folder, out = sys.argv[1:]
    environment = os.environ
    programs, locks = (environment[key].split(",") for key in ("PROGRAMS", "LOCKS"))
    threads = [int(number) for number in environment["THREADS"].split(",")]
    runs, seconds = int(environment["RUNS"]), float(environment["SECS"])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:int(environment["CPUS"])])
    benchmarks = Benchmarks(folder, environment["WAIT"])
    benchmarks.fill(programs)
    begin = time.monotonic()
    with open(f"{out}/user-locks.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["program", "lock", "threads", "ops", "locks", "contended"])
        for name in programs:
            for lock in locks:
                if lock != "glibc":
                    table.writerow(proof(benchmarks, name, lock, threads[-1], min(seconds, 0.25)))
    ours = next((lock for lock in locks if lock != "glibc"), None)
    for name in PROFILED if ours else ():
        if name in programs:
            benchmarks.run(name, ours, 1, seconds, "--profile", str(pathlib.Path(out).absolute() / f"profile-{name}.csv"))
    with open(f"{out}/user-raw.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["program", "threads", "run", "lock", "ops", "seconds"])
        for run in range(1, runs + 1):
            for name in programs:
                print(f"round {run} of {runs}: {name}, {time.monotonic() - begin:.0f} s", flush=True)
                for number in threads:
                    for turn in range(len(locks)):
                        lock = locks[(turn + run - 1) % len(locks)]
                        ops, took, _ = benchmarks.run(name, lock, number, seconds)
                        table.writerow([name, number, run, lock, ops, f"{took:.6f}"])
    shutil.rmtree(benchmarks.place)


if __name__ == "__main__":
    main()
