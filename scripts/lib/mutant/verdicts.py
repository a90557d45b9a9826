# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""docs/results/data/verdicts.csv: of each bug and suite the verdict of the ten scripts that there were (before), and of
the one engine (after), as logs of runs show them. What no log shows in full stays empty."""

import csv
import re

from .catalogue import CARGO, Refused

COLUMNS = ("bug", "set", "before", "after")

# What the scripts of before printed, but for `mutants`, which named no suite: suite, and the line after its verdict.
BEFORE = (
    ("torture", r"guest mutant (\S+): "), ("kunit", r"kunit mutant ([^\s:]+)"), ("disasm", r"disasm mutant ([^\s:]+)"),
    ("spin", r"spin mutant ([^\s:]+)"), ("tla", r"tla (?:mutant )?([^\s:]+)"), ("tsan", r"tsan mutant ([^\s:]+)"),
    ("device", r"device mutant ([^\s:]+)"),
)
LOCKDEP = {"lockdep planted leaks are found": "leak", "lockdep an inversion that it is not told of is missed": "untold"}


def suite(bug, catch):
    """Cargo's worlds ran part by part: rlock; the others are suites of their own."""
    return bug.part.split("-")[0] if catch.world in CARGO else catch.world


def rows(catalogues):
    """{(bug, suite): how many verdicts it has}. KUnit has one verdict a bug."""
    found = {}
    for one in catalogues.values():
        for bug in one.bugs.values():
            for catch in bug.caught:
                key = bug.name, suite(bug, catch)
                found[key] = 1 if catch.world == "kunit" else found.get(key, 0) + 1
    return found


def told_before(line, known):
    """(bug, suite) of a line of the scripts that there were, or None."""
    for key, name in LOCKDEP.items():
        if line.startswith(key):
            return name, "lockdep"
    if re.match(r"lockdep planted \S+ is reported", line):
        return "planted", "lockdep"
    for name, pattern in BEFORE:
        said = re.match(pattern, line)
        if said and (said[1], name) in known:
            return said[1], name
    said = re.match(r"mutant ([^\s:]+)", line)
    if said:
        suites = [one for one in ("locks", "rlock", "alock") if (said[1], one) in known]
        if len(suites) > 1:
            raise Refused(f"{said[1]} is in {' and '.join(suites)}; the log does not say in which")
        return (said[1], suites[0]) if suites else None
    return None


def told_after(line, catalogues):
    """[(bug, suite)] of a line of the engine: without a world, a failure is every suite's."""
    said = re.match(r"mutant ([^/\s]+)/([^\s:]+)", line)
    if not said or said[1] not in catalogues or said[2] not in catalogues[said[1]].bugs:
        return []
    bug = catalogues[said[1]].bugs[said[2]]
    named = [suite(bug, catch) for catch in bug.caught if str(catch) in line]
    return list(dict.fromkeys((bug.name, one) for one in named or [suite(bug, catch) for catch in bug.caught]))


def read(column, logs, catalogues):
    """{(bug, suite): caught or missed}."""
    known = rows(catalogues)
    good, bad = {}, set()
    for log in logs:
        for line in log.read_text(errors="replace").splitlines():
            said = re.match(r"(not )?ok (.*)", line)
            if not said:
                continue
            keys = told_after(said[2], catalogues) if column == "after" else [told_before(said[2], known)]
            for key in filter(None, keys):
                if said[1]:
                    bad.add(key)
                good.setdefault(key, set()).add(re.sub(r" in \d+ s\b", "", said[2]))
    return {key: "missed" if key in bad else "caught" for key in good
            if key in bad or len(good[key]) >= known.get(key, 1)}


def update(column, logs, catalogues, file):
    """Writes the file with the column filled from the logs; what they do not show stays as it was."""
    if column not in COLUMNS[2:]:
        raise Refused(f"verdicts: no column {column}; before and after are")
    old = {}
    if file.exists():
        with open(file, newline="") as lines:
            old = {(row["bug"], row["set"]): row for row in csv.DictReader(lines)}
    seen = read(column, logs, catalogues)
    keys = sorted(set(old) | set(rows(catalogues)), key=lambda key: key[::-1])
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "w", newline="") as out:
        write = csv.writer(out, lineterminator="\n")
        write.writerow(COLUMNS)
        for key in keys:
            row = {"before": "", "after": "", **old.get(key, {})}
            row[column] = seen.get(key, row[column])
            write.writerow((*key, row["before"], row["after"]))
    return len(seen)
