# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""device: tests that need an RDMA device. They are compiled with each bug, one after the other; one guest then runs, of
each, the tests that must find it, and first all of these without a bug (tests/guest/alock-mutants.sh)."""

import re

from ..engine import Stop, World
from ..shell import read

AT = "build/mutants-device"


class Device(World):
    title, names = "device", ("device",)

    def __init__(self, engine):
        super().__init__(engine)
        self.due = []
        self.known = set()

    def lanes(self):
        """One tree and target folder."""
        return 1

    def compile(self, tree, name):
        """The program of the tests in `tree` comes to the guest as `name`."""
        log = f"{AT}/log/{name}.build"
        inside = self.shell.inside(f"{AT}/tree")
        # Copies that are newer than what was compiled of the last one, or planted later: cargo sees each.
        rc = self.shell.run(log, "bash", "-c", f'''
            . scripts/lib/env.sh
            rm -rf {AT}/target/*/.fingerprint/handover-*
            TOOLBOX=rdma scripts/in-toolbox env -C {inside} CARGO_TARGET_DIR={self.shell.inside(AT)}/target \\
                cargo test --release --locked --no-run "${{rdma_packages[@]}}" --test device''')
        program = re.search(r"^ *Executable .*\((.*)\)$", read(self.top / log), re.MULTILINE)
        if rc or not program:
            return False
        path = program[1].removeprefix("/handover/")
        return self.shell.run(f"{log}.strip", "scripts/in-toolbox", "strip", "-o", f"{AT}/files/{name}", path) == 0

    def begin(self, bugs):
        self.shell.discard(AT)
        (self.top / AT / "files").mkdir(parents=True)
        self.shell.copy(f"{AT}/tree", "Cargo.toml", "Cargo.lock", "rust")
        if self.shell.run(f"{AT}/log/deps", "scripts/build/host-deps", f"{AT}/target", "rdma"):
            raise Stop(f"mutants: no libraries; see {AT}/log/deps")
        if not self.compile(f"{AT}/tree", "control"):
            raise Stop(f"mutants: the crates as they are do not compile; see {AT}/log/control.build")
        return []

    def hunt(self, lane, bug, catches):
        """Here they are compiled alone: the guest's verdicts come at the end."""
        with self.engine.planted(bug, self.top / AT / "tree"):
            if not self.compile(f"{AT}/tree", bug.stem):
                yield self.uncompiled(bug, f"{AT}/log/{bug.stem}.build")
                return
        self.known.add(bug.full)
        for catch in catches:
            self.due.append(f"{bug.stem} {catch.test} {'yes' if bug.option('hangs') else 'no'}")
        yield True, f"# {bug.full} is compiled; the guest's verdicts follow"

    def end(self, bugs):
        if not self.due:
            return
        (self.top / AT / "files/LIST").write_text("".join(f"{line}\n" for line in self.due))
        rc, modules = self.shell.ask(f"{AT}/log/modules", "scripts/build/rdma-modules")
        if rc or self.shell.run(f"{AT}/log/files", "scripts/build/rdma-files", f"{AT}/rdma-files"):
            raise Stop(f"mutants: the guest's files cannot be had; see {AT}/log")
        rc = self.shell.run(
            f"{AT}/guest.log", "scripts/guest/boot", "--accel", "tcg", "--modules", modules.strip(), "--tree", f"{AT}/rdma-files",
            "--files", f"{AT}/files", "--smp", "2", "--limit", "900", "--out", f"{AT}/guest", "tests/guest/alock-mutants.sh")
        stream = read(self.top / AT / "guest/stream").replace("\r", "")
        lines = re.findall(r"^(?:not )?ok .*$", stream, re.MULTILINE)
        names = {bug.stem: bug.full for bug in bugs}
        for line in lines:
            said = re.match(r"(not )?ok device mutant (\S+) \(caught by (\S+)\)(?:: (.*))?$", line)
            if said and said[2] in names:
                ok = not said[1]
                yield self.verdict(ok, names[said[2]], f"caught by device {said[3]}" if ok else f"device {said[3]}: {said[4]}")
            else:
                yield not line.startswith("not "), line
        ran = re.findall(r"^@@ verdicts (\d+)", stream, re.MULTILINE)
        # The two devices, each test without a bug, each bug with its tests.
        due = 1 + len({line.split()[1] for line in self.due}) + len(self.due)
        if rc or not ran or int(ran[-1]) != due or len(lines) != due:
            yield self.verdict(False, "device guest", f"exit {rc}, {ran[-1] if ran else 'no'} verdicts, of mutants and their "
                               f"controls {due}; see {AT}/guest/stream")
