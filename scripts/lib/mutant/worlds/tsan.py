# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""tsan: ThreadSanitizer reports a race in the test that the catalogue names. "tsan/BINARY TEST"."""

from ..engine import World


class Tsan(World):
    title, names = "tsan", ("tsan",)

    def lanes(self):
        """They share a target folder, in which the standard library is."""
        return 1

    def hunt(self, lane, bug, catches):
        tree = "build/tsan-mutant"
        self.engine.copy_with(bug, tree, "Cargo.toml", "Cargo.lock", "rust")
        for catch in catches:
            binary = catch.place.partition("/")[2]
            rc, said = self.shell.ask(f"build/log/tsan.{bug.stem}", "tests/suites/tsan", "--race", tree, binary, catch.test)
            if rc:
                yield self.verdict(False, bug.full, said.strip() or f"exit {rc}")
            else:
                yield self.verdict(True, bug.full, f"caught by {catch}: a race")
        self.shell.discard(tree)
