# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""What a run of one of glibc's tests says: verdict and reason. A verdict has a reason, always."""

import collections
import csv
import dataclasses
import re

PASS, LEFT, NOT, FAIL = "pass", "left to glibc", "not applicable", "fail"
VERDICTS = (PASS, LEFT, NOT, FAIL)
# The lock of a test's first run: glibc's own mutexes, without the library.
CONTROL = "glibc's own"
COLUMNS = ("test", "glibc", "lock", "verdict", "reason")
# glibc's status of a test that this machine cannot run.
UNSUPPORTED = 77
# What the statistics count.
MUTEXES = ("locks", "try_locks", "timed_locks", "unlocks")
CONDS = ("cond_waits", "cond_timed_waits", "cond_signals", "cond_broadcasts")


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a run ended: its status, none where it ran into the limit, and what it said."""
    status: int | None
    said: str


def statistics(said, lock):
    """The sums of the statistics of all processes of a run, or nothing where none of them tells of this lock."""
    sums, found = collections.Counter(), False
    # A line of the program's own may end without an end.
    for line in re.findall(rf"handover: lock={re.escape(lock)} wait=park (.*)$", said, re.MULTILINE):
        found = True
        sums.update({name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", line)})
    return sums if found else None


# What glibc's driver, or a test, says of an error; most tests also say how far they are.
ERROR = re.compile(r"^(Timed out|Didn't expect|Incorrect signal|Expected )|error|fail|succeeded|did ?n[o']t|wrong|not |cannot", re.IGNORECASE)


def first_words(ended):
    """What a failed run says of its error first, or says last."""
    if ended.status is None:
        return "it does not end"
    lines = [line.strip() for line in ended.said.splitlines() if line.strip() and not line.startswith("handover: ")]
    said = [line for line in lines if ERROR.search(line)][:1] or lines[-1:]
    return steady(said[0]) if said else f"status {ended.status}"


def steady(line):
    """The line, the same in each run: without a file's place, addresses and times."""
    line = re.sub(r"^(?:error: )?\S+\.[ch]:\d+: (?:error: )?", "", line)
    line = re.sub(r"\b0x[0-9a-f]+\b", "0x...", line)
    return re.sub(r"/\S*/", "", line)[:120]


def control_says(test, ended):
    """The verdict on the run without the library."""
    if test["left_out"]:
        return NOT, test["left_out"]
    if ended.status == UNSUPPORTED:
        return NOT, f"unsupported here: {first_words(ended)}"
    if ended.status != 0:
        return NOT, f"fails with glibc's own as well: {first_words(ended)}"
    return PASS, "the control: without the library"


def objects(sums, mutexes, conds):
    """The names of the objects whose calls were counted."""
    return [name for name, calls in (("mutexes", mutexes), ("condition variables", conds)) if any(sums[call] for call in calls)]


def judge(test, lock, control, ended):
    """The verdict on a run under a lock, whose control ended so."""
    verdict, reason = control_says(test, control)
    if verdict != PASS:
        return verdict, reason
    sums = statistics(ended.said, lock)
    if sums is None:
        return FAIL, "the library was not in force: no process told its statistics"
    if ended.status != 0:
        return FAIL, first_words(ended)
    ours = objects(sums, MUTEXES, CONDS)
    left = objects(sums, ("left_mutexes",), ("left_conds",))
    kinds = f" ({', '.join(test['kinds'])})" if test["kinds"] else ""
    if ours:
        return PASS, f"ours: {', '.join(ours)}" + (f"; left to glibc: {', '.join(left)}{kinds}" if left else "")
    if left:
        return LEFT, f"every call: {', '.join(left)}{kinds}"
    if not any(call.startswith("pthread_") for call in test["calls"]):
        return NOT, "C11's functions, which glibc serves by calls within itself" if test["calls"] else "no call of a function that is replaced"
    return PASS, "the calls are not counted: their processes end by no exit"


def write(rows, file):
    table = csv.writer(file, lineterminator="\n")
    table.writerow(COLUMNS)
    table.writerows(rows)


def read(file):
    return [tuple(row[column] for column in COLUMNS) for row in csv.DictReader(file)]


def faults(rows):
    """What is wrong with a table by itself: a row without a reason, an unknown verdict, a test without a row for some lock."""
    found = [] if rows else ["no row"]
    locks = sorted({lock for _, _, lock, _, _ in rows})
    by_test = collections.defaultdict(list)
    for test, glibc, lock, verdict, reason in rows:
        by_test[glibc, test].append(lock)
        if not reason.strip():
            found.append(f"{glibc}/{test}/{lock}: no reason")
        if verdict not in VERDICTS:
            found.append(f"{glibc}/{test}/{lock}: verdict {verdict}; allowed: {', '.join(VERDICTS)}")
    for (glibc, test), has in by_test.items():
        if sorted(has) != locks:
            found.append(f"{glibc}/{test}: rows for {', '.join(has)}; due: {', '.join(locks)}")
    return found if CONTROL in locks or not rows else [*found, f"no row for {CONTROL}"]


def differences(kept, found):
    """What a run found otherwise than the kept table says, a line each."""
    kept, found = ({row[:3]: row[3:] for row in rows} for rows in (kept, found))
    for key in sorted(kept.keys() | found.keys()):
        was, is_ = ("no row" if row is None else ": ".join(row) for row in (kept.get(key), found.get(key)))
        if was != is_:
            test, glibc, lock = key
            yield f"{glibc}/{test}/{lock}: {is_}; kept: {was}"


def summary(rows):
    """How many tests have each verdict, by glibc and lock, in the order of the rows."""
    counts = {}
    for _, glibc, lock, verdict, _ in rows:
        counts.setdefault((glibc, lock), collections.Counter())[verdict] += 1
    return [(glibc, lock, *(count[verdict] for verdict in VERDICTS)) for (glibc, lock), count in counts.items()]


def reasons(rows):
    """The verdicts and reasons under the locks, with the number of tests of each glibc that have them under some lock."""
    tests = {}
    for test, glibc, lock, verdict, reason in rows:
        if lock != CONTROL:
            tests.setdefault((verdict, reason), {}).setdefault(glibc, set()).add(test)
    glibcs = sorted({row[1] for row in rows}, reverse=True)
    order = sorted(tests, key=lambda key: (VERDICTS.index(key[0]), key[1]))
    return glibcs, [(*key, *(len(tests[key].get(glibc, ())) for glibc in glibcs)) for key in order]


def page(rows):
    """The tables of docs/results/nptl.md."""
    glibcs, table = reasons(rows)
    lines = ["| glibc | lock | " + " | ".join(VERDICTS) + " |", "|---" * (2 + len(VERDICTS)) + "|"]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in summary(rows)]
    lines += ["", "| verdict | reason | " + " | ".join(f"tests, {glibc}" for glibc in glibcs) + " |", "|---" * (2 + len(glibcs)) + "|"]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in table]
