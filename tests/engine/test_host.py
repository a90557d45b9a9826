# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""tests/suites/host: what was compiled of the same files serves the next clone, and of other files nothing does."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import tomllib
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]

# The toolbox: /handover is the clone, and /cache the cache.
TOOLBOX = """#!/bin/bash
top=$PWD n=$#
for word; do word=${word//\\/handover/$top}; set -- "$@" "${word//\\/cache\\//$XDG_CACHE_HOME/handover/}"; done
shift $n
PATH=$top/bin:$PATH exec "$@"
"""

# A test's program passes what it was compiled of, and loads its library.
CARGO = """#!/bin/bash
case "$*" in
*--doc*) echo "test it - compile fail ... ok"; echo "test stats::Stats of it ... ok" ;;
*--features*) echo "test stats_count ... ok" ;;
run*) echo "2 threads, 2000 sections" ;;
*)
	at=$CARGO_TARGET_DIR/debug
	[ -e "$at/program" ] || echo compiled >>"$XDG_CACHE_HOME/compiled"
	mkdir -p "$at/deps"
	cp rust/locks/code "$at/deps/libloaded.so"
	cp rust/locks/code "$at/program"
	cat >"$at/deps/tests-1" <<'END'
#!/bin/bash
[ "$1" != --list ] || { echo "adds_up: test"; exit; }
at=$(dirname "$0")
[ -s "$at/libloaded.so" ] && [ -s "$at/../program" ] && echo "test adds_up ... ok" || { echo "test adds_up ... FAILED"; exit 1; }
END
	chmod +x "$at/deps/tests-1" "$at/program"
	echo "  Executable tests ($at/deps/tests-1)"
	;;
esac
"""


class Host(unittest.TestCase):
    def setUp(self):
        self.at = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.at)
        self.clone()

    def clone(self, code="code\n"):
        """A new clone, in the place of the last one: to the toolbox all clones are at one place."""
        top = self.at / "clone"
        if top.exists():
            shutil.rmtree(top)
        shutil.copytree(TOP / "scripts/lib", top / "scripts/lib", ignore=shutil.ignore_patterns("__pycache__"))
        # A step that does not look once a second whether it is over.
        with (top / "scripts/lib/env.sh").open("a") as env:
            env.write('step() { local log=$2; shift 2; mkdir -p "$(dirname "$log")"; "$@" >"$log" 2>&1; }\n')
        for name, text in {"scripts/in-toolbox": TOOLBOX, "bin/cargo": CARGO, "bin/strip": "#!/bin/sh\n",
                           "scripts/build/host-deps": '#!/bin/sh\nmkdir -p "$1"\n', "scripts/build/toolbox": "#!/bin/sh\necho toolbox-1\n",
                           "tests/suites/host": (TOP / "tests/suites/host").read_text()}.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(text)
            (top / name).chmod(0o755)
        for name in subprocess.run(["bash", "-c", '. scripts/lib/env.sh; echo "${host_crates[@]}" "${rdma_crates[@]}"'], cwd=top,
                                   capture_output=True, text=True, check=True).stdout.split():
            (top / name).mkdir(parents=True)
        for name in ("Cargo.toml", "Cargo.lock"):
            (top / name).write_text("")
        (top / "rust/locks/code").write_text(code)

    def host(self):
        """(exit status, its verdicts) of the suite in the clone."""
        ran = subprocess.run(["tests/suites/host"], cwd=self.at / "clone", capture_output=True, text=True, check=False,
                             env={**os.environ, "XDG_CACHE_HOME": str(self.at / "cache")})
        return ran.returncode, [line for line in ran.stdout.splitlines() if line.startswith(("ok adds", "not ok"))], ran.stderr

    def test_each_crate_counts(self):
        """What is compiled with the host's tests, or beside them, is in their key."""
        members = tomllib.loads((TOP / "Cargo.toml").read_text())["workspace"]["members"]
        crates = subprocess.run(["bash", "-c", '. scripts/lib/env.sh; printf "%s\\n" "${host_crates[@]}" "${rdma_crates[@]}"'], cwd=TOP,
                                capture_output=True, text=True, check=True).stdout.splitlines()
        self.assertEqual({member for member in members if not any(member == one or member.startswith(one + "/") for one in crates)}, set())

    def compiled(self):
        return len((self.at / "cache/compiled").read_text().splitlines())

    def test_the_next_clone_compiles_nothing(self):
        for _ in range(2):
            self.assertEqual(self.host()[:2], (0, ["ok adds_up"]))
            self.clone()
        self.assertEqual(self.compiled(), 1)

    def test_other_code_is_compiled(self):
        self.host()
        self.clone("other code\n")
        self.assertEqual(self.host()[:2], (0, ["ok adds_up"]))
        self.assertEqual(self.compiled(), 2)

    def test_a_test_that_fails_fails_again(self):
        for _ in range(2):
            self.clone("")
            rc, lines, _ = self.host()
            self.assertEqual((rc != 0, lines), (True, ["not ok adds_up"]))

    def test_the_cache_keeps_three(self):
        for code in "abcde":
            self.clone(code)
            self.host()
        self.assertEqual(len(list((self.at / "cache/handover").glob("host-tests-*"))), 3)
