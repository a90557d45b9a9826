# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""suite: a suite of tests/suites, of a copy of the tree, says 'not ok VERDICT'. "suite/NAME VERDICT"; `parts` are its
arguments, and `shows` is why, of a bug. Other verdicts pass, so it is not the copy that fails."""

import re
import shlex

from ..engine import World
from ..shell import read

AT = "build/mutants-suite"
SOURCES = ("Cargo.toml", "Cargo.lock", "Kbuild", "Makefile", "README.md", "LICENSES", "docs", "qemu", "rust", "scripts", "tests")


class Suite(World):
    title, names = "suite", ("suite",)
    beside = True

    def lanes(self):
        """A suite does several things at a time itself."""
        return 1

    def hunt(self, lane, bug, catches):
        tree, shows = f"{AT}/{bug.stem}.tree", bug.option("shows", "")
        self.engine.copy_with(bug, tree, *SOURCES)
        for place in dict.fromkeys(catch.place for catch in catches):
            name = place.partition("/")[2]
            log = f"{AT}/{bug.stem}.{name}"
            rc, said = self.shell.ask(log, f"{tree}/tests/suites/{name}", *shlex.split(bug.option("parts", "")))
            said += read(self.top / log)
            for catch in catches:
                if catch.place == place:
                    yield self.one(bug, catch, rc, said, shows, log)
        self.shell.discard(tree)

    def one(self, bug, catch, rc, said, shows, log):
        lines = re.findall(f"^not ok {re.escape(catch.test)}(?::.*)?$", said, re.MULTILINE)
        if f"ok {catch.test}" in said.splitlines():
            why = "passes"
        elif not lines or rc == 0:
            why = f"exit {rc}, no such verdict; see {log}"
        elif not re.search(shows, lines[0]):
            why = f"it fails otherwise than '{shows}': {lines[0]}"
        elif not re.search("^ok ", said, re.MULTILINE):
            why = f"no other verdict passes; see {log}"
        else:
            return self.verdict(True, bug.full, f"caught by {catch}")
        return self.verdict(False, bug.full, f"{catch}: {why}")
