# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""loom, host, step, shuttle, sim: tests that cargo compiles. A lane keeps its copy of the tree, and what was compiled
of the libraries; of our own crates nothing that was compiled for one bug is taken for another."""

import json
import os
import shutil
import time

from ..catalogue import CARGO
from ..engine import Stop, World
from ..shell import read

AT = "build/mutants"
PASSED, FAILED, ENDLESS, NEITHER = range(4)
OURS = "handover-"

# Documents that no test of a crate reads.
UNREAD = ("docs/claims.md", "docs/results/log.md")


class Cargo(World):
    title, names = "cargo", CARGO
    reads, unread = ("docs",), UNREAD

    def __init__(self, engine):
        super().__init__(engine)
        self.limit = os.environ.get("MUTANT_LIMIT_S", "180")
        self.lanes_begun = set()

    def where(self, bug, catch):
        return self.engine.catalogues[bug.part].places[catch.place]

    def lane(self, number, toolbox):
        """The lane's tree for this toolbox (none: the one of all hosts), made at its first use."""
        tree = f"{AT}/lane-{number}{toolbox and '-' + toolbox}"
        if tree not in self.lanes_begun:
            self.shell.copy(tree, "Cargo.toml", "Cargo.lock", "rust", "docs")
            rc = self.shell.run(f"{AT}/log/{tree.split('/')[-1]}.deps", "scripts/build/host-deps", f"{tree}/target",
                                *([toolbox] if toolbox else []))
            if rc:
                raise Stop(f"mutants: no libraries for {tree}: exit {rc}")
            self.lanes_begun.add(tree)
        return tree

    def options(self, fast):
        """Cargo's: a mutant is compiled in half the time without optimisation, and found as soon, but for one that only fast
        code hits."""
        packages = sorted({how["package"] for one in self.engine.catalogues.values() for how in one.places.values()})
        return [] if fast else [word for kind in ("test", "release") for name in packages for level in ("opt-level=0", "debug=false")
                                for word in ("--config", f"profile.{kind}.package.{name}.{level}")]

    def forget(self, tree):
        """Cargo goes by dates, and one that is wrong would show: so it has nothing to go by."""
        for folder in (self.top / tree / "target").glob("*/.fingerprint"):
            for name in folder.glob(f"{OURS}*"):
                shutil.rmtree(name)

    def in_tree(self, log, tree, toolbox, *command, incremental=False, **how):
        tree = self.shell.inside(tree)
        return self.shell.run(
            log, "scripts/in-toolbox", "env", "-C", tree, f"CARGO_TARGET_DIR={tree}/target", f"CARGO_INCREMENTAL={int(incremental)}",
            "timeout", "-k", "5", self.limit, *command, env={"LINKER": "lld", **({"TOOLBOX": toolbox} if toolbox else {})}, **how)

    def build(self, tree, log, places, fast=False):
        """{(package, features, target): program} of these places, or None where it does not compile. rustc goes by contents, so
        what it keeps of the last bug serves the next; of optimised code it would make other code then."""
        programs = {}
        self.forget(tree)
        (self.top / log).unlink(missing_ok=True)
        for package, toolbox, features in sorted({(how["package"], how.get("toolbox", ""), ",".join(how.get("features", [])))
                                              for how in places}):
            targets = []
            for how in places:
                if (how["package"], how.get("toolbox", ""), ",".join(how.get("features", []))) == (package, toolbox, features):
                    target = ["--lib"] if how.get("lib") else ["--bin", how["bin"]] if "bin" in how else ["--test", how["test"]]
                    targets += target if target[-1] not in targets else []
            out = f"{log}.json"
            (self.top / out).unlink(missing_ok=True)
            rc = self.in_tree(log, tree, toolbox, "cargo", *self.options(fast), "test", "--locked", "--no-run", "--message-format=json-render-diagnostics",
                              *(["--release"] if toolbox else []), *(["--features", features] if features else []),
                              "-p", package, *targets, only_out=out, append=True, incremental=not fast)
            if rc:
                return None
            for line in read(self.top / out).splitlines():
                said = json.loads(line) if line.startswith("{") else {}
                # Tests of a package's programs bring these along, which are no tests themselves.
                if said.get("executable") and said["profile"]["test"]:
                    target = said["target"]
                    name = True if "lib" in target["kind"] else target["name"]
                    programs[package, features, name] = said["executable"]
        return programs

    def test(self, tree, log, how, programs, test):
        """One run of one test. It fails as a test fails: its own line says so, after a panic."""
        program = programs.get((how["package"], ",".join(how.get("features", [])), how.get("test", how.get("bin", True))))
        if not program:
            return NEITHER
        rc = self.in_tree(log, tree, how.get("toolbox", ""), program, "--exact", test)
        said = read(self.top / log)
        lines = said.splitlines()
        if rc == 0 and f"test {test} ... ok" in lines:
            return PASSED
        if rc == 101 and f"test {test} ... FAILED" in lines and "panicked at" in said:
            return FAILED
        return ENDLESS if rc == 124 else NEITHER

    def order(self, bugs):
        """Those that take several runs, or optimisation, first: no lane then ends alone with them."""
        return sorted(bugs, key=lambda bug: (not bug.option("fast"), not bug.option("tries")))

    def begin(self, bugs):
        """The tests pass on the crates as they are. What the suite host saw pass, on the same files, is not run again."""
        self.shell.discard(AT)
        all_tests = {(catch.test, str(catch), bug.part): (bug, catch) for bug in bugs for catch in self.catches(bug)}
        passed = read(self.top / "build/log/host.passed").splitlines()
        rc, key = self.shell.ask(f"{AT}/log/digest", "bash", "-c", ". scripts/lib/env.sh; host_digest")
        known = set(passed[1:]) if not rc and passed and passed[0] == key.strip() else set()
        left = [(self.where(bug, catch), catch) for (test, _, _), (bug, catch) in all_tests.items() if test not in known]
        for toolbox in sorted({how.get("toolbox", "") for how, _ in left}):
            mine = [(how, catch) for how, catch in left if how.get("toolbox", "") == toolbox]
            tree = self.lane(0, toolbox)
            programs = self.build(tree, f"{AT}/log/control.build", [how for how, _ in mine])
            if programs is None:
                raise Stop(f"mutants: the crates as they are do not compile; see {AT}/log/control.build")
            for how, catch in mine:
                log = f"{AT}/log/control.{catch.test.replace('::', '.')}"
                if self.test(tree, log, how, programs, catch.test) != PASSED:
                    raise Stop(f"mutants: {catch} does not pass on the crates as they are; see {log}")
        yield self.verdict(True, "control", f"{len(all_tests)} tests pass on the crates as they are")

    def hunt(self, lane, bug, catches):
        for toolbox in sorted({self.where(bug, catch).get("toolbox", "") for catch in catches}):
            mine = [(self.where(bug, catch), catch) for catch in catches if self.where(bug, catch).get("toolbox", "") == toolbox]
            tree = self.lane(lane, toolbox)
            log = f"{AT}/log/{bug.stem}"
            with self.engine.planted(bug, self.top / tree):
                programs = self.build(tree, f"{log}.build", [how for how, _ in mine], bug.option("fast", False))
                if programs is None:
                    yield self.uncompiled(bug, f"{log}.build")
                    continue
                for how, catch in mine:
                    yield self.one(tree, bug, how, catch, programs, f"{log}.{catch.test.replace('::', '.')}")

    def one(self, tree, bug, how, catch, programs, log):
        began, tries = time.monotonic(), bug.option("tries", 1)
        got = PASSED
        # What only chance finds may need some runs.
        for _ in range(tries):
            got = self.test(tree, log, how, programs, catch.test)
            if got != PASSED:
                break
        if got == PASSED:
            return self.verdict(False, bug.full, f"{catch} passes{f' {tries} times' if tries > 1 else ''}")
        if got == FAILED:
            return self.verdict(True, bug.full, f"caught by {catch} in {time.monotonic() - began:.0f} s")
        if got == ENDLESS and bug.option("hangs"):
            return self.verdict(True, bug.full, f"caught by {catch}, which does not end")
        return self.verdict(False, bug.full, f"{catch} neither passed nor failed within {self.limit} s; see {log}")

    def end(self, bugs):
        for tree in self.lanes_begun:
            self.shell.discard(tree)
        return []

