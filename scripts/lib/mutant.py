# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""mutants : the planted bugs of tests/mutants/*.toml, by the one engine (scripts/lib/mutant).
  mutants [--door DOOR] [--worlds WORLD,...] [--share K/N] [PART|BUG|PART/BUG]...
                                                        plants them, runs what must find them, a verdict a line
  mutants list [--door DOOR] [--worlds WORLD,...] [--share K/N] [PART|BUG]...
                                                        PART/BUG, a tab, and each test that must find it
  mutants diff PART/BUG                                 the bug as a patch
  mutants plant PART/BUG DIR                            writes it into a copy of the tree
  mutants check                                         each applies, and stands under a claim
  mutants claims [FILE]                                 writes docs/claims.md; with FILE, says whether that is it
  mutants verdicts before|after LOG...                  fills a column of docs/results/data/verdicts.csv from logs
A world is one of the words in a catalogue's `caught`, or cargo for those that cargo runs, or module for the kernel's.
A door is test or test-deep: only what `make test`, or only what `make test-deep`, plants. At test, bugs that cargo's tests
caught on the same files are not planted again for 30 days. A share is every Nth of the bugs, from the Kth on.
One test of cargo's may take MUTANT_LIMIT_S seconds (180), as may compiling it.
"""

import pathlib
import signal
import sys

sys.dont_write_bytecode = True
from mutant import catalogue, claims, verdicts  # noqa: E402
from mutant.engine import Engine, Stop  # noqa: E402
from mutant.worlds import ALL  # noqa: E402


def worlds_of(words):
    """The worlds of --worlds: their names, or those of the group that a title names."""
    groups = {world.title: world.names for world in ALL}
    chosen = []
    for word in words.split(","):
        if word not in groups and word not in catalogue.WORLDS:
            raise catalogue.Refused(f"no world is called {word}; the worlds are {', '.join(catalogue.WORLDS)}, "
                                    f"and the groups {', '.join(groups)}")
        chosen += groups.get(word, (word,)) if word not in catalogue.WORLDS else (word,)
    return chosen


def taken(words, option):
    """(the word after `option`, or None; the other words)"""
    if option not in words:
        return None, words
    at = words.index(option)
    if len(words) < at + 2:
        raise catalogue.Refused(f"{option}: which?")
    return words[at + 1], words[:at] + words[at + 2:]


def main(arguments, top):
    catalogues = catalogue.load_all(top / "tests/mutants")
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if verb == "check" and not rest:
        found = catalogue.problems(catalogues, top)
        for line in found:
            print(line)
        return 1 if found else 0
    if verb == "claims" and len(rest) < 2:
        page, file = claims.page(catalogues), top / "docs/claims.md"
        if not rest:
            file.write_text(page)
        elif not pathlib.Path(rest[0]).exists() or pathlib.Path(rest[0]).read_text() != page:
            print(f"{rest[0]} is not what the catalogues say: scripts/mutants claims writes docs/claims.md")
            return 1
        return 0
    if verb in ("diff", "plant") and len(rest) == (1 if verb == "diff" else 2):
        bugs = catalogue.find(catalogues, rest[:1])
        if len(bugs) != 1:
            raise catalogue.Refused(f"{rest[0]} is {len(bugs)} bugs; name one: {' '.join(bug.full for bug in bugs[:5])} ...")
        if verb == "diff":
            sys.stdout.write(catalogue.diff(bugs[0], top))
        else:
            for bug in catalogue.with_base(catalogues, bugs[0]):
                catalogue.plant(bug, pathlib.Path(rest[1]))
        return 0
    if verb == "verdicts" and len(rest) > 1:
        for log in rest[1:]:
            if not pathlib.Path(log).is_file():
                raise catalogue.Refused(f"verdicts: there is no log {log}")
        count = verdicts.update(rest[0], [pathlib.Path(log) for log in rest[1:]], catalogues,
                                top / "docs/results/data/verdicts.csv")
        print(f"{count} verdicts in {rest[0]}")
        return 0
    if verb in ("check", "claims", "diff", "plant", "verdicts"):
        raise catalogue.Refused(f"{verb}: wrong arguments\n{__doc__}")
    words = rest if verb == "list" else arguments
    worlds, words = taken(words, "--worlds")
    door, words = taken(words, "--door")
    share, words = taken(words, "--share")
    names = worlds_of(worlds) if worlds else catalogue.WORLDS
    if door and door not in catalogue.DOORS:
        raise catalogue.Refused(f"--door {door}: allowed: {', '.join(catalogue.DOORS)}")
    bugs = catalogue.restrict(catalogue.find(catalogues, words), names, (door,) if door else catalogue.DOORS)
    if share is not None:
        bugs = catalogue.shared(bugs, share)
    if not bugs:
        raise catalogue.Refused(f"none of {' '.join(words)} is for {', '.join(names)}{' in ' + door if door else ''}")
    if verb == "list":
        for bug in bugs:
            for catch in bug.caught:
                print(f"{bug.full}\t{catch}")
        return 0
    return run(top, catalogues, bugs, door == "test")


def run(top, catalogues, bugs, takes_over):
    engine = Engine(top, catalogues, takes_over=takes_over)

    def ended(number, _frame):
        # The run ends its commands on its way out; here the interrupted thread may hold their lock.
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, ended)
    return 0 if engine.run([world(engine) for world in ALL], bugs) else 1


if __name__ == "__main__":
    import os

    os.environ.pop("PYTHONHOME", None)
    try:
        sys.exit(main(sys.argv[1:], pathlib.Path(__file__).resolve().parents[2]))
    except (catalogue.Refused, Stop) as why:
        sys.exit(f"handover: error: mutants: {str(why).removeprefix('mutants: ')}")
