# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/build: what a kernel, a tree or a module is made from is in its name in the cache, and no more. scripts/dkms: what the
package does when it comes and goes."""

import contextlib
import fcntl
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILT = ("kernel", "stock", "flavour", "locktorture", "module-for")
MODULE = ("Kbuild", "rust/Kbuild", "rust/handover.rs", "rust/locks/twa.rs", "rust/measure/table.rs", "rust/linux/harness/run.rs", "scripts/build-module")

# The source. What it holds is in its name, as that of scripts/build/linux is in its.
LINUX = """#!/bin/bash
dir=$XDG_CACHE_HOME/handover/linux-$(cat source)
mkdir -p "$dir"
echo 7.3.4 >"$dir/release"
echo 7.3.4-1 >"$dir/version"
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
            "qemu/patches/1.patch": "1", "qemu/patches/2.patch": "2", "qemu/packages": "a", "tests/guest/taken.c": "a"}
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
        # What is in the name is here.
        self.assertNotIn("sha256sum: ", ran.stderr)
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
                         self.KERNEL | {"scripts/build/locktorture", "qemu/patches/1.patch", "qemu/patches/2.patch", "tests/guest/taken.c"})

    def test_a_flavour(self):
        self.assertEqual(self.changed_by("flavour", "7.3.4-rt-amd64"), {"scripts/build/flavour", "source"})
        self.assertNotEqual(self.name("flavour", "7.3.4-rt-amd64"), self.name("flavour", "7.3.4-cloud-amd64"))
        self.assertNotEqual(self.name("stock", "7.3.4-rt-amd64"), self.name("stock"))

    def test_sources_that_change_meanwhile(self):
        """A module of which nobody knows what it was made from is not kept."""
        (self.top / "scripts/in-toolbox").write_text("#!/bin/bash\necho '#' >>rust/handover.rs\n")
        ran = subprocess.run(["scripts/build/module-for", "test"], cwd=self.top, capture_output=True, text=True, check=False,
                             env={**os.environ, "XDG_CACHE_HOME": str(self.at / "cache")})
        self.assertEqual(ran.returncode, 1)
        self.assertIn("the sources were changed meanwhile", ran.stderr)
        self.assertEqual(list((self.at / "cache/handover").glob("module-test-*")), [])

    def test_a_module_that_does_not_build_is_none(self):
        (self.top / "scripts/in-toolbox").write_text("#!/bin/bash\nexit 3\n")
        ran = subprocess.run(["scripts/build/module-for", "test"], cwd=self.top, capture_output=True, text=True, check=False,
                             env={**os.environ, "XDG_CACHE_HOME": str(self.at / "cache")})
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))
        self.assertEqual(list((self.at / "cache/handover").glob("module-test-*")), [])

    def test_the_module(self):
        """Its tree is in its name: the same version of a kernel may be configured otherwise."""
        self.assertEqual(self.changed_by("module-for", "test"), {*MODULE, "source"})

    def test_a_module_that_is_used_is_kept(self):
        """However old it is. One that nobody asked for in eight days goes."""
        used = self.name("module-for", "test")
        (self.top / "rust/handover.rs").write_text("b")
        unused = self.name("module-for", "test")
        (self.top / "rust/handover.rs").write_text("a")
        for name in (used, unused):
            os.utime(self.at / "cache/handover" / name, (time.time() - 8.5 * 86400,) * 2)
        for _ in range(2):
            self.assertEqual(self.name("module-for", "test"), used)
        self.assertEqual([path.name for path in (self.at / "cache/handover").glob("module-*")], [used])

    def test_a_kernel_that_is_none_is_refused(self):
        for script, words, why in (("kernel", ["tost"], "kernel: tost: allowed: lockdep test"), ("kernel", [], "kernel: : allowed: lockdep test"),
                                   ("kernel", ["guest"], "kernel: guest: allowed: lockdep test"), ("locktorture", ["tost"], "kernel: tost: allowed: lockdep test")):
            ran = subprocess.run([f"scripts/build/{script}", *words], cwd=self.top, capture_output=True, text=True, check=False,
                                 env={**os.environ, "XDG_CACHE_HOME": str(self.at / "cache")})
            self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (1, "", f"handover: error: {why}\n"))

    def test_kernels_are_apart(self):
        self.assertNotEqual(self.name("kernel", "test"), self.name("kernel", "lockdep"))


class Cached(unittest.TestCase):
    """`cached` of scripts/lib/env.sh: an entry is whole, and made once."""

    def bash(self, text):
        with tempfile.TemporaryDirectory() as at:
            ran = subprocess.run(["bash", "-euc", f". {TOP}/scripts/lib/env.sh; cd $XDG_CACHE_HOME; {text}"], capture_output=True, text=True,
                                 check=False, timeout=60, env={**os.environ, "XDG_CACHE_HOME": at})
            return ran.returncode, ran.stdout.replace(at, ""), ran.stderr

    MADE = 'made() { [ -z "$(ls -A "$1")" ] && echo new >"$1/file"; }; '

    def test_what_an_earlier_make_left_is_gone(self):
        code, said, why = self.bash(self.MADE + 'mkdir -p "$cache/.new-x/old"; chmod 500 "$cache/.new-x/old"; cached x made; ls "$cache/x"')
        self.assertEqual((code, said), (0, "/handover/x\nfile\n"), why)

    def test_what_is_there_is_not_made(self):
        code, said, why = self.bash('made() { echo made >&2; }; mkdir -p "$cache/x"; cached x made')
        self.assertEqual((code, said, why), (0, "/handover/x\n", ""))

    def test_one_that_fails_leaves_nothing(self):
        code, said, why = self.bash('made() { echo half >"$1/file"; return 1; }; rc=0; cached x made || rc=$?; echo $rc; ls "$cache"')
        self.assertEqual((code, said), (0, "1\nlog\n"), why)

    def test_the_second_of_two_waits(self):
        """The first one makes it while the second looks on."""
        code, said, why = self.bash("""
            made() { echo made >&2; }
            mkdir -p "$cache"
            exec 5>"$cache/.lock-x"
            flock 5
            cached x made 5>&- >said 2>why &
            until grep -q 'is making x' why; do sleep 0.05; done
            mkdir "$cache/x"
            exec 5>&-
            wait $!
            cat said
            ! grep made why""")
        self.assertEqual((code, said), (0, "/handover/x\n"), why)


class Alone(unittest.TestCase):
    """`alone` of scripts/lib/env.sh."""

    WAITS = "handover: another make works in this clone; waiting for it\n"

    @contextlib.contextmanager
    def second(self, text):
        """A make that says `text` when it is alone, and the lock of the first, which it waits for."""
        with tempfile.TemporaryDirectory() as at:
            (pathlib.Path(at) / "scripts/lib").mkdir(parents=True)
            (pathlib.Path(at) / "build").mkdir()
            shutil.copy(TOP / "scripts/lib/env.sh", f"{at}/scripts/lib")
            clean = {name: value for name, value in os.environ.items() if name != "HANDOVER_ALONE"}
            with open(f"{at}/build/.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                with subprocess.Popen(["bash", "-euc", f". {at}/scripts/lib/env.sh; alone; {text}"], env=clean, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ran:
                    try:
                        self.assertEqual(ran.stderr.readline(), self.WAITS)
                        yield ran, lock
                    finally:
                        ran.kill()

    def test_the_second_make_of_a_clone_waits(self):
        with self.second("echo goes on") as (ran, lock):
            with self.assertRaises(subprocess.TimeoutExpired):
                ran.wait(3)
            fcntl.flock(lock, fcntl.LOCK_UN)
            self.assertEqual((ran.wait(30), ran.stdout.read()), (0, "goes on\n"))

    def test_each_goal_waits_for_another_make(self):
        """Each goal of the Makefile works in build/."""
        with contextlib.ExitStack() as stack:
            top = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            shutil.copytree(TOP / "scripts", top / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
            for name in ("Makefile", "Cargo.toml", "rust/locks/list.rs", "rust/linux/harness/registry.rs"):
                (top / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(TOP / name, top / name)
            (top / "scripts/lib/python").write_text("#!/bin/sh\necho .\n")
            (top / ".gitconfig").write_text("[user]\n\tname = A\n\temail = a@example.org\n")
            (top / "build").mkdir()
            (top / "build/kept").touch()
            clean = {name: value for name, value in os.environ.items() if name not in ("HANDOVER_ALONE", "MAKEFLAGS", "MAKELEVEL", "KDIR")}
            clean |= {"KVER": "7.3.4+deb13-amd64", "HOME": str(top), "XDG_CACHE_HOME": str(top / "cache")}
            goals = re.search(r"(?m)^goals := (.*)$", (TOP / "Makefile").read_text())[1].split()
            self.assertGreater(len(goals), 15)
            lock = stack.enter_context(open(top / "build/.lock", "w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            for goal in goals:
                part = ["PART=locks"] if "mut" in goal else []
                ran = subprocess.Popen(["make", "-s", "-C", str(top), goal, *part], env=clean, text=True, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
                stack.callback(ran.stderr.close)
                stack.callback(ran.wait)
                stack.callback(os.killpg, ran.pid, signal.SIGKILL)
                self.assertEqual(ran.stderr.readline(), self.WAITS, goal)
            self.assertTrue((top / "build/kept").exists())

    def test_who_waited_for_a_clean_waits_for_the_next(self):
        """The lock is that of the file which is there."""
        with self.second("echo goes on; read -r _") as (ran, lock):
            os.unlink(lock.name)
            fcntl.flock(lock, fcntl.LOCK_UN)
            self.assertEqual(ran.stdout.readline(), "goes on\n")
            with open(lock.name, "w") as its, self.assertRaises(BlockingIOError):
                fcntl.flock(its, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ran.communicate("\n")


class Step(unittest.TestCase):
    """`step` of scripts/lib/env.sh."""

    def test_its_end_is_that_of_all_it_began(self):
        """All of them have a pipe, whose end comes when the last of them is gone."""
        for ended_by in (signal.SIGINT, signal.SIGTERM):
            with tempfile.TemporaryDirectory() as at:
                end, theirs = os.pipe()
                text = f'. {TOP}/scripts/lib/env.sh; step "what takes long" {at}/log bash -c "sleep 300 & echo \\$! >&{theirs}; wait"'
                # Whoever is started in the background ignores an interrupt, and with it what it starts.
                with open(end) as end, subprocess.Popen(
                        ["bash", "-euc", text], stderr=subprocess.DEVNULL, pass_fds=[theirs],
                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as ran:
                    os.close(theirs)
                    child = int(end.readline())
                    try:
                        ran.send_signal(ended_by)
                        self.assertEqual(ran.wait(30), 130)
                        self.assertEqual(select.select([end], [], [], 30)[0], [end])
                        self.assertEqual(end.read(), "")
                    finally:
                        ran.kill()
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(child, signal.SIGKILL)


class Doors(unittest.TestCase):
    """`make module`, `make figures` and `make upstream`: what they have made, with what. The toolbox writes down what it is
    called with."""

    def ran(self, script, toolbox, *words, **environment):
        """The exit, what was said, and what is in the files that the stubs wrote."""
        with tempfile.TemporaryDirectory() as at:
            top = pathlib.Path(at)
            for name in (script, "scripts/lib/env.sh"):
                (top / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(TOP / name, top / name)
            (top / "scripts/build").mkdir()
            for name, text in (("scripts/build/linux", LINUX.replace("7.3.4", "7.3.4+deb13-amd64", 1)), ("scripts/in-toolbox", f"#!/bin/bash\n{toolbox}\n"),
                               ("scripts/build/stock", '#!/bin/bash\necho "$*" >>asked\necho /tree\n'), ("source", "a")):
                (top / name).write_text(text)
                (top / name).chmod(0o755)
            git = {"GIT_COMMITTER_DATE": "2026-01-02T22:04:05+0000", "GIT_AUTHOR_DATE": "2025-12-31T01:00:00+0000", "GIT_CONFIG_COUNT": "2",
                   "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "A Name", "GIT_CONFIG_KEY_1": "user.email", "GIT_CONFIG_VALUE_1": "a@localhost"}
            clean = {name: value for name, value in os.environ.items() if name not in ("KDIR", "KVER")}
            environment = clean | git | environment | {"XDG_CACHE_HOME": str(top / "cache")}
            for command in (["init", "-q"], ["add", "source"], ["commit", "-qm", "x"]):
                subprocess.run(["git", *command], cwd=top, env=environment, check=True)
            ran = subprocess.run([script, *words], cwd=top, capture_output=True, text=True, check=False, env=environment)
            return ran.returncode, ran.stderr, {name: (top / name).read_text() for name in ("asked", "called") if (top / name).exists()}

    MODULE = 'echo "$TREE $*" >>called'

    def test_a_module_is_for_the_release_that_was_named(self):
        for release in ("7.3.4+deb13-amd64", "7.3.4+deb13-rt-amd64", "7.3.4+deb13-cloud-amd64"):
            code, said, files = self.ran("scripts/module", self.MODULE, KVER=release)
            self.assertEqual((code, files), (0, {"asked": f"{release}\n", "called": "/tree scripts/build-module /mnt/kernel\n"}), said)
            self.assertIn(f"handover.ko: for {release}\n", said)

    def test_figures_are_drawn_or_looked_at(self):
        """Whatever looks at them is as it was asked, and its exit is the door's."""
        for words, exits in (((), 0), (("--check",), 0), (("--check",), 1)):
            code, said, files = self.ran("scripts/figures", f'echo "$*" >>called; case $* in env*) ;; *) exit {exits} ;; esac', *words)
            self.assertEqual(code, exits, said)
            self.assertEqual(files["called"].splitlines()[1:], [" ".join(("build/figures/debug/figures", *words, "docs/results/figures.toml"))])
        for words in (("--chek",), ("--check", "all"), ("all",)):
            code, said, files = self.ran("scripts/figures", 'echo "$*" >>called', *words)
            self.assertEqual((code, said, files), (1, f"handover: error: figures: {' '.join(words)}: allowed: nothing, or --check\n", {}))

    # One patch. What `checkpatch.pl` says to it is up to a test.
    SERIES = """
        echo "$*" >>called
        case $* in *checkpatch.pl*) exit $CHECKED ;; *upstream.py*) touch build/upstream/0001-x.patch ;; esac"""

    def test_a_series_is_of_its_commits_day(self):
        """Of the day on which it came, not of that on which it was written."""
        code, said, files = self.ran("scripts/upstream", self.SERIES, CHECKED="0")
        self.assertEqual(code, 0, said)
        self.assertIn("GIT_AUTHOR_DATE=2026-01-02T22:04:05", files["called"])
        self.assertIn("GIT_COMMITTER_DATE=2026-01-02T22:04:05", files["called"])
        self.assertIn("build/upstream/0001-x.patch", files["called"].splitlines()[-1])

    def test_a_series_that_checkpatch_complains_of_is_none(self):
        code, said, files = self.ran("scripts/upstream", self.SERIES, CHECKED="1")
        self.assertIn("checkpatch.pl --quiet --strict", files["called"])
        self.assertEqual((code, said), (1, "handover: error: upstream: checkpatch has something to say\n"))


class Inside(unittest.TestCase):
    """What scripts/build do in the toolbox, function by function."""

    def function(self, script, name, text, at):
        """`text`, where the function is known and the kernel lies in the folder `at`."""
        source = (TOP / "scripts/build" / script).read_text().replace("/mnt/kernel", str(at))
        (found,) = re.findall(rf"^{name}\(\) \{{$.*?^\}}$", source, re.MULTILINE | re.DOTALL)
        ran = subprocess.run(["bash", "-uc", f"{found}\n{text}"], cwd=at, capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout

    def test_a_configuration_is_what_was_asked_for(self):
        for asked, config, due in (("CONFIG_A=n", "CONFIG_A=m", 1), ("CONFIG_A=n", "CONFIG_A=y", 1), ("CONFIG_A=n", "# CONFIG_A is not set", 0),
                                   ("CONFIG_A=n", "CONFIG_AB=y", 0), ("CONFIG_B=y", "", 1), ("CONFIG_B=y", "CONFIG_B=y", 0),
                                   ("CONFIG_B=y", "CONFIG_B=m", 1), ("CONFIG_B=7", "CONFIG_B=77", 1), ("# CONFIG_B=y", "", 0)):
            with tempfile.TemporaryDirectory() as at:
                (pathlib.Path(at) / ".config").write_text(f"CONFIG_Z=y\n{config}\n")
                (pathlib.Path(at) / "first").write_text("CONFIG_Z=y\n# one\nCONFIG_N=n\n")
                (pathlib.Path(at) / "asked").write_text(f"CONFIG_Z=y\n{asked}\nCONFIG_Z=y\n")
                code, said = self.function("kernel", "check_config", "check_config first asked", at)
                self.assertEqual((code, said), (due, f"asked for, but not in the kernel's configuration: {asked}\n" if due else ""), (asked, config))

    # The archive: headers by release, and each part's versions. What is downloaded is unpacked as what a package of that name has.
    ARCHIVE = """
        set -o pipefail
        apt-get() {{ case $* in *' update '*) echo update ;; *' download '*) shift 10; for it; do touch "${{it%%=*}}_1.deb"; echo "$it" >>"{at}/downloaded"; done ;; esac; }}
        apt-cache() {{
            case $* in
            *' search '*) for it in {headers}; do echo "linux-headers-$it - Header files"; done ;;
            *) for it in {parts}; do [ "${{it%%=*}}" != "${{!#}}" ] || echo "${{!#}} | ${{it#*=}} | deb"; done ;;
            esac
        }}
        dpkg() {{
            case $1 in
            --compare-versions) command dpkg "$@" ;;
            *) case $2 in
                linux-headers-*) it=${{2%_1.deb}}; mkdir -p "$3/usr/src/$it"; echo "config of $it" >"$3/usr/src/$it/.config"; echo symbols >"$3/usr/src/$it/Module.symvers" ;;
                linux-source-*) mkdir -p "$3/usr/src" "$3/t/linux-source-7.3"; echo its >"$3/t/linux-source-7.3/Makefile"; tar -C "$3/t" -cJf "$3/usr/src/${{2%_1.deb}}.tar.xz" linux-source-7.3 ;;
                *) mkdir -p "$3/boot"; echo "image of ${{2%_1.deb}}" >"$3/boot/vmlinuz-x" ;;
                esac ;;
            esac
        }}
        """

    def parts(self, release, version, image="linux-binary", lacks=""):
        names = [f"linux-headers-{release}", f"{image}-{release}", f"linux-modules-{release}", "linux-source-7.3"]
        return [f"{name}={version}" for name in names if name != lacks]

    def test_the_newest_kernel_that_is_whole_is_chosen(self):
        """By its version, and neither the cloud's nor the one that sleeps where it spins."""
        new, old = ("7.3.10+deb13-amd64", "7.3.10-1"), ("7.3.9+deb13-amd64", "7.3.9-1")
        flavours = ["7.3.11+deb13-cloud-amd64", "7.3.11+deb13-rt-amd64", "7.4.1+deb13-amd64"]
        others = [part for release in flavours for part in self.parts(release, "7.3.11-1")]
        for parts, due, image in ((self.parts(*new), new, "linux-binary"), (self.parts(*new, "linux-binary-unsigned"), new, "linux-binary-unsigned"),
                                  (self.parts(*new, lacks=f"linux-modules-{new[0]}"), old, "linux-binary"), ([], old, "linux-binary"), (None, None, None)):
            with tempfile.TemporaryDirectory() as at:
                stubs = self.ARCHIVE.format(at=at, headers=" ".join([*flavours[:2], old[0], new[0], *flavours[2:]]),
                                            parts=" ".join([*others, *(self.parts(*old) + parts if parts is not None else [])]))
                whole = re.search(r"(?ms)^whole\(\) \{$.*?^\}$", (TOP / "scripts/build/linux").read_text())[0]
                code, said = self.function("linux", "fetch_linux", f"{stubs}\n{whole}\nfetch_linux {at}/dir", at)
                if not due:
                    self.assertEqual((code, said.splitlines()[-1]), (1, "no 7.3 is complete in the archive (source, headers, image, modules)"))
                    continue
                release, version = due
                self.assertEqual(code, 0, said)
                self.assertIn(f"chosen: {release} ({version}), image from {image}-{release}", said)
                made = {path.name: path.read_text() for path in pathlib.Path(at, "dir").iterdir() if path.is_file()}
                self.assertEqual(made, {"release": f"{release}\n", "version": f"{version}\n", "config": f"config of linux-headers-{release}\n",
                                        "Module.symvers": "symbols\n", "vmlinuz": f"image of {image}-{release}\n"})
                self.assertEqual(pathlib.Path(at, "dir/src/Makefile").read_text(), "its\n")
                self.assertEqual([path.name for path in pathlib.Path(at, "dir").iterdir() if path.is_dir()], ["src"])
                self.assertEqual(pathlib.Path(at, "downloaded").read_text().split(),
                                 [f"{name}={version}" for name in (f"linux-headers-{release}", f"{image}-{release}", "linux-source-7.3")])

    def test_another_flavour_is_of_the_same_version(self):
        release = "7.3.4+deb13-rt-amd64"
        for image, version, is_there in (("linux-binary", "7.3.4-1", True), ("linux-binary-unsigned", "7.3.4-1", True), ("linux-binary", "7.3.4-2", False)):
            with tempfile.TemporaryDirectory() as at:
                stubs = self.ARCHIVE.format(at=at, headers="", parts=" ".join(self.parts(release, version, image)))
                code, said = self.function("flavour", "fetch_flavour", f"{stubs}\nfetch_flavour {release} 7.3.4-1 {at}/dir", at)
                if not is_there:
                    self.assertEqual((code, said.splitlines()[-1]), (1, f"the archive has no image of {release} in version 7.3.4-1"))
                    continue
                self.assertEqual(code, 0, said)
                made = {path.name: path.read_text() for path in pathlib.Path(at, "dir").iterdir()}
                self.assertEqual(made, {"release": f"{release}\n", "config": f"config of linux-headers-{release}\n", "Module.symvers": "symbols\n",
                                        "vmlinuz": f"image of {image}-{release}\n"})
                self.assertEqual(pathlib.Path(at, "downloaded").read_text().split(), [f"linux-headers-{release}=7.3.4-1", f"{image}-{release}=7.3.4-1"])

    def test_a_kernel_of_which_all_is_there(self):
        """Of 7.3, in one version."""
        with tempfile.TemporaryDirectory() as at:
            def whole(version, have=""):
                return self.function("linux", "whole", f"""
                    apt=()
                    apt-cache() {{ [ "$2" = "{have}" ] && echo "x | other | y" || echo "x | {version}-1 | y"; }}
                    whole {version}+deb13-amd64 {version} linux-binary""", at)

            for version in ("7.3", "7.3.4", "7.3.99"):
                self.assertEqual(whole(version), (0, f"{version}+deb13-amd64 {version}-1 linux-binary linux-source-7.3\n"))
            for version in ("7.2.9", "7.3~rc5", "7.4~rc1", "7.4", "7.30.1", "8.3"):
                self.assertEqual(whole(version), (1, ""), version)
            for part in ("linux-binary", "linux-modules-7.3.4+deb13-amd64", "linux-source-7.3"):
                self.assertEqual(whole("7.3.4", part), (1, ""), part)


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
