# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""What scripts/mutate asks: how cargo-mutants is to run for a part, and what its report means.

  mutate.py runs PART                        how many runs the part has
  mutate.py how PART RUN [FILE...]           cargo-mutants' options for a run (0 is the first), a line each
  mutate.py judge PART SECONDS COMMIT DIR... what need be said of the runs' reports; fails unless all is found or excluded
"""

import collections
import json
import pathlib
import re
import sys
import tomllib

MOST_PERCENT = 5
# The lists of a report, and what each says of the changes in it: what counts most comes first. Of several runs each sees
# what those before did not find. A change that one run times out and another misses has timed out.
LISTS = {"caught": "CaughtMutant", "unviable": "Unviable", "timeout": "Timeout", "missed": "MissedMutant"}
ALLOWED = {"part", "mutant", "code", "why", "hang"}


class Refused(Exception):
    """The file of parts, or the command, is wrong."""


def read(file):
    """(parts, excluded) of tests/mutate.toml."""
    with open(file, "rb") as given:
        told = tomllib.load(given)
    parts, excluded = told.get("part", {}), told.get("excluded", [])
    for name, part in parts.items():
        if not part.get("runs") or any(set(run) - {"quick"} != {"arguments", "limit_s"} for run in part["runs"]):
            raise Refused(f"{name}: it has runs, and a run has arguments, limit_s and, if it likes, quick")
    for one in excluded:
        name = one.get("mutant", "?")
        if set(one) - ALLOWED or not {"part", "mutant", "code"} <= set(one) or ("why" in one) == ("hang" in one):
            raise Refused(f"{name}: it has part, mutant and code, and either why or hang")
        if one["part"] not in parts:
            raise Refused(f"{name}: no part {one['part']}; there are {', '.join(parts)}")
        if len(one.get("why", one.get("hang")).split()) < 5:
            raise Refused(f"{name}: a sentence says why")
    return parts, excluded


def known(parts, name):
    """The part of this name."""
    if name not in parts:
        raise Refused(f"PART={name}: allowed: {', '.join(parts)}")
    return parts[name]


def how(parts, name, run, files):
    """The options for a run of a part, or of some of its files."""
    part = known(parts, name)
    options = ["--package", part["package"]]
    for file in files or part["files"]:
        options += ["--file", file]
    for package in part["test"]:
        options += ["--test-package", package]
    if run:
        options.append("--iterate")
    given = part["runs"][run]
    for profile in ("dev", "test") if given.get("quick") else ():
        options += [f"--cargo-arg=--config=profile.{profile}.{key}=0" for key in ("opt-level", "debug")]
    return options + ["--minimum-test-timeout", str(given["limit_s"]), "--timeout-multiplier", "3", "--", *given["arguments"]]


def found(reports, top):
    """{(file, change, code): [outcome, ...]} of the runs' reports."""
    last = {}
    for report in reports:
        # A run in which nothing was left to try has no outcomes.
        if (report / "outcomes.json").exists():
            for one in json.loads((report / "outcomes.json").read_text())["outcomes"]:
                if one["scenario"] == "Baseline" and one["summary"] != "Success":
                    raise Refused(f"the tests fail on the code as it is: {one['summary']}")
        # A line each: FILE:LINE:COLUMN: CHANGE. Only these lists have the changes in words.
        for list_of, summary in LISTS.items():
            listed = report / f"{list_of}.txt"
            for printed in listed.read_text().splitlines() if listed.exists() else []:
                last[printed] = min(last.get(printed, summary), summary, key=list(LISTS.values()).index)
    outcomes = collections.defaultdict(list)
    for printed, summary in last.items():
        file, line, _, change = re.fullmatch(r"(.*?):(\d+):(\d+): (.*)", printed).groups()
        code = (top / file).read_text().splitlines()[int(line) - 1].strip()
        outcomes[file, change, code].append(summary)
    return outcomes


def judge(part, outcomes, excluded):
    """(what is wrong, counts) of a part's outcomes."""
    mine = [one for one in excluded if one["part"] == part]
    wrong, count = [], collections.Counter()
    used = set()
    for (file, change, code), summaries in sorted(outcomes.items()):
        known = [number for number, one in enumerate(mine) if (one["mutant"], one["code"]) == (change, code)]
        for summary in summaries:
            count[summary] += 1
            if summary not in ("MissedMutant", "Timeout"):
                continue
            entry = mine[known[0]] if known else None
            if entry is None or (summary == "Timeout") != ("hang" in entry):
                wrong.append(f"{file}: {change}: {summary}; the line is: {code}")
            else:
                used.add(known[0])
                count["equivalent" if "why" in entry else "hang"] += 1
    for number, one in enumerate(mine):
        if number not in used:
            wrong.append(f"excluded, but found or not there: {one['mutant']}; the line is: {one['code']}")
    viable = sum(count[summary] for summary in ("CaughtMutant", "MissedMutant", "Timeout"))
    if not viable:
        wrong.append("no change was tried")
    elif count["equivalent"] * 100 > viable * MOST_PERCENT:
        wrong.append(f"{count['equivalent']} of {viable} are excluded: more than {MOST_PERCENT} %")
    return wrong, {**count, "viable": viable}


def main(arguments):
    top = pathlib.Path.cwd()
    parts, excluded = read(top / "tests/mutate.toml")
    verb, part, *rest = arguments
    if verb == "runs":
        print(len(known(parts, part)["runs"]))
        return 0
    if verb == "how":
        print("\n".join(how(parts, part, int(rest[0]), rest[1:])))
        return 0
    seconds, commit, *reports = rest
    wrong, count = judge(part, found([pathlib.Path(report) for report in reports], top), excluded)
    print("\n".join(f"not ok mutate {part}: {line}" for line in wrong) or f"ok mutate {part}")
    print("handover: for docs/results/log.md:", file=sys.stderr)
    row = [commit, part, *(count.get(key, 0) for key in ("viable", "CaughtMutant", "hang", "equivalent", "Unviable"))]
    print("| " + " | ".join(map(str, [*row, -(-int(seconds) // 60)])) + " |", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Refused as why:
        print(f"handover: error: mutate: {why}", file=sys.stderr)
        sys.exit(1)
