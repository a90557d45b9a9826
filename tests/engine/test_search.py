# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/lib/search.sh: what an earlier run has found is of the very same files and tools."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


class Earlier(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.top)
        shutil.copytree(SCRIPTS / "lib", self.top / "scripts/lib", ignore=shutil.ignore_patterns("*.pyc"))
        (self.top / "scripts/build").mkdir()
        self.tools("old")
        for name in ("model", "suite"):
            (self.top / name).write_text(f"{name}\n")

    def tools(self, name):
        path = self.top / "scripts/build/proof-toolbox"
        path.write_text(f"#!/bin/sh\necho /a/folder/proof-toolbox-{name}\n")
        path.chmod(0o755)

    def bash(self, text):
        ran = subprocess.run(["bash", "-c", f". scripts/lib/env.sh; . scripts/lib/search.sh; {text}"], cwd=self.top,
                             env={**os.environ, "XDG_CACHE_HOME": str(self.top / "cache")}, capture_output=True, text=True, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout.strip()

    def earlier(self, name="a"):
        return self.bash(f"earlier {name} proof model suite")

    def test_each_file_and_tool_counts(self):
        found = [self.earlier(), self.earlier("b")]
        for file, text in (("model", "model \n"), ("suite", "model\n"), ("model", "suite\n")):
            (self.top / file).write_text(text)
            found.append(self.earlier())
        self.tools("new")
        found.append(self.earlier())
        self.assertEqual(len(set(found)), len(found), found)
        self.assertEqual(self.earlier(), found[-1])

    def test_what_is_kept_is_there(self):
        (self.top / "out/one").mkdir(parents=True)
        (self.top / "out/one/log").write_text("holds\n")
        self.bash('mkdir -p "$cache"; keep out "$(earlier a proof model suite)"')
        kept = pathlib.Path(self.earlier())
        self.assertEqual([(path.relative_to(kept), path.read_text()) for path in kept.rglob("log")], [(pathlib.Path("one/log"), "holds\n")])
        # The second of two runs at once leaves the first one's.
        (self.top / "out/one/log").write_text("other\n")
        self.bash('keep out "$(earlier a proof model suite)"')
        self.assertEqual(sorted(path.name for path in kept.parent.iterdir()), [kept.name])
        self.assertEqual((kept / "one/log").read_text(), "holds\n")
