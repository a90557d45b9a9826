# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""python: the tests of scripts (tests/engine), on scripts with a bug in one of them."""

from ..engine import Stop, World
from ..shell import read

AT = "build/mutants-python"

# What the tests read.
READ = ("Cargo.toml", "Makefile", ".ci", "scripts", "tests/engine", "tests/guest", "tests/suites", "docs/results", "qemu/patches", "qemu/init", "rust/linux", "rust/upstream",
        "rust/locks", "rust/measure", "docs/kernel.md")


class Python(World):
    title, names = "python", ("python",)
    beside, reads = True, READ

    def run(self, log, tree, tests):
        return self.shell.run(log, "tests/suites/engine", "--in", tree, *tests)

    def begin(self, bugs):
        tests = sorted({catch.test for bug in bugs for catch in self.catches(bug)})
        self.shell.copy(f"{AT}/control", *READ)
        if self.run(f"{AT}/control.log", f"{AT}/control", tests):
            raise Stop(f"mutants: the engine's tests do not pass on the engine as it is; see {AT}/control.log")
        yield self.verdict(True, "engine control", f"{len(tests)} tests pass on the engine as it is")

    def hunt(self, lane, bug, catches):
        tree = f"{AT}/{bug.stem}"
        self.engine.copy_with(bug, tree, *READ)
        rc = self.run(f"{tree}.log", tree, [catch.test for catch in catches])
        lines = read(self.top / f"{tree}.log").splitlines()
        for catch in catches:
            if rc == 1 and any(line.startswith(f"not ok engine {catch.test}: ") for line in lines):
                yield self.verdict(True, bug.full, f"caught by {catch}")
            elif f"ok engine {catch.test}" in lines:
                yield self.verdict(False, bug.full, f"{catch} passes")
            else:
                yield self.verdict(False, bug.full, f"{catch} neither passed nor failed; see {tree}.log")
        self.shell.discard(tree)
