# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""ratios.py BEFORE... -- AFTER...: docs/results/data/ratios.csv, of folders build/ in which `make bench`, `make bench-rlock`
and `make run-alock` ran. Prints row, before, after, spread.

Each ratio is taken in one boot, run or round. A side's figure is the median of its ratios in all its folders. The spread
is their least and most, before and after. Two sides are the same if each one's median lies within the other's spread.
Standard error names the rows that are not the same. RATIOS_EACH names a file for every single ratio.
"""

import csv
import os
import pathlib
import statistics
import sys

KERNELS = ("stock", "test")


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def ratios(rows, keep, group, name, value, base):
    """{(what the columns `keep` say, the name): [its value to the base's, of each group]}

    group   the columns that tell a boot, a run or a round
    base    the names with which the others are compared, of which the greatest value counts
    """
    values = {}
    for row in rows:
        kept, one = (tuple(row[column] for column in columns) for columns in (keep, group))
        values.setdefault((kept, one), {}).setdefault(row[name], []).append(value(row))
    found = {}
    for (kept, _), by_name in values.items():
        middle = {known: statistics.median(each) for known, each in by_name.items()}
        bases = [middle[known] for known in base if known in middle]
        for known, figure in middle.items():
            if known not in base and bases:
                found.setdefault((*kept, known), []).append(figure / max(bases))
    return found


def uncontended(build):
    """Nanoseconds of a pair to the kernel's own lock, in each boot's runs. Without a column, the layout is near."""
    each = [{"layout": "near", **row} for row in rows(build / "bench/uncontended-raw.csv")]
    return ratios(each, ["kernel", "layout"], ["boot", "run"], "lock",
                  lambda row: int(row["ns"]) / int(row["pairs"]), ["raw_spin_lock"])


def contended(build):
    """Acquisitions a second to the kernel's own lock's, in each boot's runs. Until 3e377ba all runs were of one boot."""
    each = [{"boot": "1", **row} for row in rows(build / "bench/contended.csv")]
    return ratios(each, ["kernel", "writers"], ["boot", "run"], "lock",
                  lambda row: int(row["acquisitions"]) / float(row["seconds"]), ["raw_spin_lock"])


def increments(build):
    """Nanoseconds of an increment by one thread to a locked add's, in each round at each place."""
    alone = [row for row in rows(build / "bench/rlock-raw.csv") if (row["threads"], row["cpus"]) == ("1", "1")]
    return ratios(alone, [], ["alignment", "round"], "method", lambda row: float(row["ns"]), ["lock_add"])


def threads(build):
    """Nanoseconds of rlock's increment by more threads, or on more CPUs, to one thread's."""
    mine = [{**row, "of": f"{row['threads']} threads, {row['cpus']} CPUs"}
            for row in rows(build / "bench/rlock-raw.csv") if row["method"] == "rlock"]
    return ratios(mine, [], ["alignment", "round"], "of", lambda row: float(row["ns"]), ["1 threads, 1 CPUs"])


def alock(build):
    """ALock's operations a second to the better of its baselines', in each round, with the first pair of budgets."""
    every = rows(build / "alock/raw.csv")
    first = {row["lock"]: (row["local_budget"], row["remote_budget"]) for row in reversed(every)}
    chosen = [row for row in every if (row["local_budget"], row["remote_budget"]) == first[row["lock"]]]
    return ratios(chosen, ["threads", "locks", "locality"], ["round"], "lock",
                  lambda row: float(row["throughput"]), [lock for lock in first if lock != "alock"])


FIGURES = {
    "uncontended pair, {0} kernel, layout {1}: {2} to raw_spin_lock": uncontended,
    "writers: {1}, {0} kernel: {2} to raw_spin_lock": contended,
    "rlock's increment: {0} to lock_add": increments,
    "rlock's increment: {0} to one": threads,
    "ALock to its better baseline: {0} threads a node, {1} locks, {2} % local": alock,
}


def table(before, after):
    """{row: (before's ratios, after's)}; a row that one side lacks has none there."""
    lines = {}
    for text, of in FIGURES.items():
        for side, builds in enumerate((before, after)):
            for round_, build in enumerate(builds):
                for key, each in of(build).items():
                    lines.setdefault(text.format(*key), ([], []))[side].extend((round_, one) for one in each)
    return lines


def write_each(lines, file):
    """Every single ratio, from which the table follows."""
    with open(file, "w", newline="") as to:
        out = csv.writer(to, lineterminator="\n")
        out.writerow(["row", "side", "round", "ratio"])
        for row, sides in lines.items():
            for name, side in zip(("before", "after"), sides):
                out.writerows([row, name, round_ + 1, f"{one:.4f}"] for round_, one in side)


def are_same(one, other):
    """Whether each one's median lies within the other's spread."""
    return all(min(there) <= statistics.median(here) <= max(there) for here, there in ((one, other), (other, one)))


def main(arguments):
    between = arguments.index("--")
    lines = table(*([pathlib.Path(one) for one in side] for side in (arguments[:between], arguments[between + 1:])))
    if "RATIOS_EACH" in os.environ:
        write_each(lines, os.environ["RATIOS_EACH"])
    lines = {row: [[one for _, one in side] for side in sides] for row, sides in lines.items()}
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["row", "before", "after", "spread"])
    apart = []
    for row, sides in lines.items():
        said = [f"{statistics.median(side):.3f}" if side else "" for side in sides]
        spread = [f"{min(side):.3f} to {max(side):.3f}" if side else "" for side in sides]
        out.writerow([row, *said, "; ".join(spread)])
        if not all(sides) or not are_same(*sides):
            apart.append(row)
    for row in apart:
        print(f"handover: apart: {row}", file=sys.stderr)
    print(f"handover: {len(lines) - len(apart)} of {len(lines)} ratios are the same within their spread", file=sys.stderr)
    return 1 if apart or not lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
