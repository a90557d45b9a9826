# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/build: what a kernel, a tree or a module is made from is in its name in the cache, and no more. scripts/dkms: what the
package does when it comes and goes."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILT = ("kernel", "stock", "locktorture", "module-for")
MODULE = ("Kbuild", "rust/Kbuild", "rust/handover.rs", "rust/locks/twa.rs", "rust/measure/table.rs", "rust/linux/harness/run.rs", "scripts/build-module")

# The source. What it holds is in its name, as that of scripts/build/linux is in its.
LINUX = """#!/bin/bash
dir=$XDG_CACHE_HOME/handover/linux-$(cat source)
mkdir -p "$dir"
echo 7.3.4 >"$dir/release"
echo "$dir"
"""


class Names(unittest.TestCase):
    def setUp(self):
        self.at = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.at)
        self.top = self.at / "clone"
        files = {f"scripts/build/{name}": (TOP / "scripts/build" / name).read_text() for name in BUILT} | {
            "scripts/build/linux": LINUX, "scripts/in-toolbox": "#!/bin/bash\n", "source": "a",
            "scripts/lib/env.sh": (TOP / "scripts/lib/env.sh").read_text()
            + '\nstep() { shift 2; "$@"; }\n',
            "qemu/patches/1.patch": "1", "qemu/patches/2.patch": "2", "qemu/packages": "a"}
        files |= {f"qemu/{name}.config": name for name in ("guest", "test", "lockdep")}
        files |= {"scripts/build/tree": LINUX} | dict.fromkeys((*MODULE, "rust/rlock/lib.rs", "docs/kernel.md"), "a")
        for name, text in files.items():
            (self.top / name).parent.mkdir(parents=True, exist_ok=True)
            (self.top / name).write_text(text)
            (self.top / name).chmod(0o755)

    def name(self, *words):
        """What the cache has it under."""
        ran = subprocess.run([f"scripts/build/{words[0]}", *words[1:]], cwd=self.top, capture_output=True, text=True, check=True,
                             env={**os.environ, "XDG_CACHE_HOME": str(self.at / "cache")})
        # (The toolbox has the cache elsewhere.)
        made = pathlib.Path(ran.stdout.strip()).name
        self.assertTrue((self.at / "cache/handover" / made).is_dir(), ran.stderr)
        return made

    def changed_by(self, *words):
        """The files by each of which alone the name is another."""
        before = self.name(*words)
        self.assertEqual(self.name(*words), before)
        found = set()
        for file in sorted(file for file in self.top.rglob("*") if file.is_file() and file.name not in ("env.sh", "in-toolbox", "linux", "tree")):
            text = file.read_text()
            file.write_text(text + "#")
            if self.name(*words) != before:
                found.add(str(file.relative_to(self.top)))
            file.write_text(text)
        return found

    KERNEL = {"scripts/build/kernel", "source", "qemu/guest.config", "qemu/test.config"}

    def test_a_kernel(self):
        self.assertEqual(self.changed_by("kernel", "test"), self.KERNEL)

    def test_the_stock_kernels_tree(self):
        self.assertEqual(self.changed_by("stock"), {"scripts/build/stock", "source"})

    def test_locktorture(self):
        self.assertEqual(self.changed_by("locktorture", "test"),
                         self.KERNEL | {"scripts/build/locktorture", "qemu/patches/1.patch", "qemu/patches/2.patch"})

    def test_the_module(self):
        """Its tree is in its name: the same version of a kernel may be configured otherwise."""
        self.assertEqual(self.changed_by("module-for", "test"), {*MODULE, "source"})

    def test_kernels_are_apart(self):
        self.assertNotEqual(self.name("kernel", "test"), self.name("kernel", "lockdep"))


class Package(unittest.TestCase):
    """The package's scripts, as dpkg calls them. dkms does what a test asks."""

    def ran(self, script, *words, dkms="", build=""):
        with tempfile.TemporaryDirectory() as at:
            calls, built = pathlib.Path(at) / "calls", pathlib.Path(at) / "handover-dkms/7.3/make.log"
            built.parent.mkdir(parents=True)
            built.touch()
            for name, text in (("dkms", dkms), ("common.postinst", build)):
                path = pathlib.Path(at) / name
                path.write_text(f"#!/bin/sh\necho {name} $* >>{calls}\n{text}\n")
                path.chmod(0o755)
            text = (TOP / "scripts/dkms" / script).read_text().replace("@VERSION@", "1.2").replace("/usr/lib/dkms/", f"{at}/")
            text = text.replace("/var/cache/", f"{at}/")
            done = subprocess.run(["sh", "-c", text, script, *words], env=os.environ | {"PATH": f"{at}:{os.environ['PATH']}"},
                                  capture_output=True, text=True, check=False)
            self.assertEqual(built.exists(), script == "postinst" or words[0] == "failed-upgrade")
            return done.returncode, calls.read_text().splitlines() if calls.exists() else [], done.stderr

    def test_whatever_goes_is_built_no_more(self):
        for word in ("remove", "upgrade", "deconfigure"):
            self.assertEqual(self.ran("prerm", word, dkms="echo built"),
                             (0, ["dkms status -m handover -v 1.2", "dkms remove -m handover -v 1.2 --all"], ""))
            # dkms does not know it: it was never built.
            self.assertEqual(self.ran("prerm", word), (0, ["dkms status -m handover -v 1.2"], ""))
        self.assertEqual(self.ran("prerm", "failed-upgrade"), (0, [], ""))

    def test_it_is_built_where_it_is_configured(self):
        self.assertEqual(self.ran("postinst", "configure", "1.1"), (0, ["common.postinst handover 1.2 1.1"], ""))
        code, calls, said = self.ran("postinst", "configure", build="exit 10")
        self.assertEqual((code, calls), (0, ["common.postinst handover 1.2"]))
        self.assertIn("the module was not built", said)
        self.assertEqual(self.ran("postinst", "abort-upgrade"), (0, [], ""))
