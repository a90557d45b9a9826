# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""Bugs that an earlier run caught on the same files: `make test` takes these verdicts over, for 30 days.

A verdict is kept where the bug was caught. It is found by all that it is a function of: what tests read, the tools, this
engine, the bug's patch, and what must find it."""

import hashlib
import os
import pathlib

from . import catalogue

TOOLS = ("scripts/build", "scripts/in-toolbox", "scripts/lib/mutant", "qemu/packages", "qemu/packages.rdma")


class Seen:
    """The verdicts of tests that read the crates and `files`, but for `unread`. Without a key of the crates nothing is kept, and
    nothing found."""

    def __init__(self, shell, log, catalogues, limit, files, unread=()):
        rc, said = shell.ask(log, "bash", "-c", '. scripts/lib/env.sh; host_digest; echo "$cache"; forget 30 "found-*"')
        said = said.split("\n")
        self.top, self.catalogues, self.limit, self.taken, self.folder = shell.top, catalogues, limit, 0, None
        if rc == 0 and len(said) > 1 and said[0]:
            self.folder = pathlib.Path(said[1]) / f"found-bugs-{self.digest(said[0], files, unread)}"

    def digest(self, crates, files, unread):
        found = hashlib.sha256(crates.encode())
        for name in (*files, *TOOLS):
            path = self.top / name
            below = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path] if path.exists() else []
            for file in below:
                at = str(file.relative_to(self.top))
                if at not in unread and "__pycache__" not in at:
                    found.update(f"{at}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\0".encode())
        return found.hexdigest()[:16]

    def place(self, bug, catches):
        """Where the verdicts on it are kept."""
        places = self.catalogues[bug.part].places.get
        # The limit too: a test that does not end within it is one that hangs.
        words = [bug.full, self.limit, *(repr(one.edits) for one in catalogue.with_base(self.catalogues, bug)),
                 *(f"{catch} {places(catch.place)}" for catch in catches), repr(sorted(bug.options.items(), key=str))]
        return self.folder / hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]

    def has(self, bug, catches):
        """Whether an earlier run has its lines: then it is not planted, and needs no control."""
        return bool(self.folder) and self.place(bug, catches).exists()

    def find(self, bug, catches):
        """The lines of an earlier run, or none."""
        if not self.has(bug, catches):
            return []
        self.taken += 1
        return [(True, line) for line in self.place(bug, catches).read_text().splitlines()]

    def keep(self, bug, catches, lines):
        """Keeps them, if all are good."""
        if not self.folder or not lines or not all(ok for ok, _ in lines):
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        place = self.place(bug, catches)
        new = place.with_name(f".{place.name}-{os.getpid()}")
        new.write_text("".join(f"{line}\n" for _, line in lines))
        new.rename(place)

    def told(self, title, bugs):
        """How many were taken over, for whoever reads the verdicts."""
        return [(True, f"# mutants ({title}): {self.taken} of {len(bugs)} were caught by an earlier run on the same files")] if self.taken else []
