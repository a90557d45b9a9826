# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/lib/suites.sh: what the suites print is counted, one after another and side by side. And the doors that run them."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = TOP / "scripts"


class Suites(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.top)
        # A clone whose scripts these are: env.sh takes its own place for the clone's.
        shutil.copytree(SCRIPTS / "lib", self.top / "scripts/lib", ignore=shutil.ignore_patterns("*.pyc"))

    def door(self, *commands):
        """(exit status, lines) of a door that runs these commands between `begin` and `counted`."""
        text = "\n".join((". scripts/lib/env.sh", ". scripts/lib/suites.sh", "begin build/lines", *commands, 'counted ""'))
        ran = subprocess.run(["bash", "-c", text], cwd=self.top, capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout.splitlines(), ran.stderr

    def says(self, name, *lines, rc=0):
        """A suite of that name: it says these lines with a pause between any two, and exits with rc."""
        path = self.top / name
        path.write_text("#!/bin/sh\n" + "sleep 0.05\n".join(f"echo '{line}'\n" for line in lines) + f"exit {rc}\n")
        path.chmod(0o755)
        return f"./{name}"

    def test_all_pass(self):
        one, two = self.says("one", "ok a", "# no verdict", "ok b"), self.says("two", "ok c")
        self.assertEqual(self.door(f"suite {one}", f"suite {two}")[:2],
                         (0, ["ok a", "# no verdict", "ok b", "ok c", "3 passed, 0 failed"]))

    def test_a_verdict_fails(self):
        rc, lines, told = self.door("suite " + self.says("one", "ok a", "not ok b: why", rc=1))
        self.assertEqual((rc, lines[-1]), (1, "1 passed, 1 failed"))
        self.assertIn("not ok b: why", told)

    def test_a_suite_fails_without_a_verdict(self):
        rc, lines, _ = self.door("suite " + self.says("one", "not ok a", rc=1), "suite " + self.says("two", "ok b", rc=3))
        self.assertEqual((rc, lines[-2:]), (1, ["not ok ./two: exit 3", "1 passed, 2 failed"]))

    def test_nothing_was_said(self):
        self.assertEqual(self.door("suite " + self.says("one"))[:2], (1, ["0 passed, 0 failed"]))

    def test_what_an_earlier_door_counted_is_not_this_ones(self):
        one = self.says("one", "ok a", "not ok b", rc=1)
        self.assertEqual(self.door(f"suite {one}")[1][-1], "1 passed, 1 failed")
        self.assertEqual(self.door("suite " + self.says("two", "ok c"))[:2], (0, ["ok c", "1 passed, 0 failed"]))

    def test_a_part_has_its_name_and_time(self):
        one = self.says("one", "ok a")
        text = f". scripts/lib/env.sh; . scripts/lib/suites.sh; begin build/lines; suite {one}; SECONDS=$((SECONDS + 70)); counted part"
        ran = subprocess.run(["bash", "-c", text], cwd=self.top, capture_output=True, text=True, check=False)
        self.assertRegex(ran.stdout, r"^ok a\npart: 1 passed, 0 failed, 7[0-9] s\n$")

    def test_side_by_side_each_comes_whole_and_in_order(self):
        names = [self.says(name, *(f"ok {name} {n}" for n in range(5))) for name in ("one", "two", "three")]
        quoted = " ".join(f"'{name} word'" for name in names)
        rc, lines, _ = self.door(f"together {quoted}", "suite " + self.says("last", "ok last"))
        self.assertEqual(rc, 0)
        self.assertEqual(lines, [*(f"ok {name} {n}" for name in ("one", "two", "three") for n in range(5)),
                                 "ok last", "16 passed, 0 failed"])

    def test_side_by_side_they_run_at_once(self):
        # Each waits for the other's file.
        for name, other in (("one", "two"), ("two", "one")):
            path = self.top / name
            path.write_text(f"#!/bin/sh\n: >{name}.is\nfor i in $(seq 100); do [ ! -e {other}.is ] || {{ echo ok {name}; exit; }}; sleep 0.1; done\nexit 1\n")
            path.chmod(0o755)
        self.assertEqual(self.door("together ./one ./two")[:2], (0, ["ok one", "ok two", "2 passed, 0 failed"]))

    def test_side_by_side_so_many_at_a_time(self):
        # The first two wait for each other, and then a second for a third, which must not begin before one of them has ended.
        names = ["one", "two", "three", "four"]
        first = """for i in $(seq 200); do [ ! -e one.began ] || [ ! -e two.began ] || break; sleep 0.05; done
[ -e one.began ] && [ -e two.began ] || exit 1
for i in $(seq 20); do
	if [ -e three.began ] || [ -e four.began ]; then [ -e one.ended ] || [ -e two.ended ] || exit 1; fi
	sleep 0.05
done
"""
        for name in names:
            path = self.top / name
            path.write_text(f"#!/bin/sh\n: >{name}.began\n{first if name in names[:2] else ''}: >{name}.ended\necho ok {name}\n")
            path.chmod(0o755)
        lines = self.door("AT_ONCE=2 together " + " ".join(f"./{name}" for name in names))[1]
        self.assertEqual(lines, [*(f"ok {name}" for name in names), "4 passed, 0 failed"])

    def test_what_runs_side_by_side_fails_if_one_does(self):
        for codes, due in (("0 0 0", 0), ("0 4 0", 1), ("0 0 3", 1), ("1 0 0", 1)):
            text = '. scripts/lib/env.sh; one() { echo "code $1"; return $1; }; parallel one'
            ran = subprocess.run(["bash", "-c", text], cwd=self.top, capture_output=True, text=True, check=False, input=codes.replace(" ", "\n") + "\n")
            self.assertEqual((ran.returncode, ran.stdout.split()[1::2]), (due, codes.split()))

    def test_side_by_side_each_failure_counts(self):
        one, two = self.says("one", "not ok a", rc=1), self.says("two", "ok b", rc=4)
        rc, lines, _ = self.door(f"together {one} {two}")
        self.assertEqual((rc, lines), (1, ["not ok a", "ok b", "not ok ./two: exit 4", "1 passed, 2 failed"]))

    def test_side_by_side_each_suite_does_as_many_things_at_a_time_as_alone(self):
        path = self.top / "one"
        path.write_text("#!/bin/sh\necho \"ok ${AT_ONCE:-as always} $*\"\n")
        path.chmod(0o755)
        for how in ("together", "AT_ONCE=1 together"):
            self.assertEqual(self.door(f"{how} './one a b' './one c'")[1][:2], ["ok as always a b", "ok as always c"], how)


class Commands(unittest.TestCase):
    """make test, make test-deep and CI themselves, in a clone whose suites say what a test asks."""

    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.top)
        shutil.copytree(SCRIPTS / "lib", self.top / "scripts/lib", ignore=shutil.ignore_patterns("*.pyc", "__pycache__"))
        for name in ("scripts/test", "scripts/test-deep", ".ci/run"):
            (self.top / name).parent.mkdir(exist_ok=True)
            shutil.copy(TOP / name, self.top / name)
        for name in ("scripts/mutants", "scripts/build/toolboxes", "scripts/build/module-for", "scripts/guest/kunit",
                     *(f"tests/suites/{suite.name}" for suite in (TOP / "tests/suites").iterdir())):
            self.stub(name, "" if "build" in name else f'echo "ok {name} $*"')

    def stub(self, name, text):
        (self.top / name).parent.mkdir(parents=True, exist_ok=True)
        (self.top / name).write_text(f"#!/bin/bash\n{text}\n")
        (self.top / name).chmod(0o755)

    def ran(self, *command):
        done = subprocess.run(command, cwd=self.top, capture_output=True, text=True, check=False, env=os.environ | {"HANDOVER_ALONE": ""})
        return done.returncode, done.stdout.splitlines()

    def test_each_is_heard(self):
        """One check that fails, and one suite that dies."""
        for command, suite in (("scripts/test", "tests/suites/disasm"), ("scripts/test", "tests/suites/lockdep"), ("scripts/test-deep", "tests/suites/perf")):
            code, lines = self.ran(command)
            self.assertEqual(code, 0, lines)
            self.assertRegex(lines[-1], r"^[1-9][0-9]* passed, 0 failed$")
            for text, many in (('echo "ok a"; echo "not ok b: why"; exit 1', 1), ('echo "ok a"; exit 3', 1), ("exit 3", 1)):
                self.stub(suite, text)
                code, lines = self.ran(command)
                self.assertEqual((code != 0, lines[-1].split(", ")[1]), (True, f"{many} failed"), lines)
            self.stub(suite, f'echo "ok {suite}"')

    def test_what_only_holds_such_words_is_no_check(self):
        """A line counts by its first words. Whoever waits sees what each suite took, and at the end what failed."""
        self.stub("tests/suites/disasm", 'echo "ok a: is not ok b"; echo "# not ok c"; echo "is ok d"')
        good = self.ran("scripts/test")
        self.assertEqual((good[0], good[1][-1].split(", ")[1]), (0, "0 failed"))
        self.stub("tests/suites/disasm", 'echo "ok a: is not ok b"; exit 3')
        bad = subprocess.run(["scripts/test"], cwd=self.top, capture_output=True, text=True, check=False, env=os.environ | {"HANDOVER_ALONE": ""})
        said = bad.stderr.splitlines()
        self.assertEqual([line for line in said if "not ok" in line], ["not ok tests/suites/disasm: exit 3"])
        took = [int(line.split()[-2]) for line in said if re.search(r"^handover: tests/suites/\S+.*: \d+ s$", line)]
        total = re.fullmatch(r"handover: in (\d+) s", said[-1])
        self.assertTrue(took and total and max(took) <= int(total[1]) < 60, said)

    def test_each_part_of_the_deep_one(self):
        code, lines = self.ran("scripts/test-deep", "perf", "upstream")
        self.assertEqual(code, 0)
        self.assertEqual([line for line in lines if " passed" in line][-1], "2 passed, 0 failed")
        self.stub("tests/suites/perf", 'echo "not ok b: why"; exit 1')
        self.assertNotEqual(self.ran("scripts/test-deep", "perf", "upstream")[0], 0)
        self.assertEqual(self.ran("scripts/test-deep", "upstream")[0], 0)
        self.assertNotEqual(self.ran("scripts/test-deep", "upsteam")[0], 0)

    def test_ci_is_both_goals(self):
        for check, test, code, last in (("echo 2 passed, 0 failed", "echo 30 passed, 0 failed", 0, "32 passed, 0 failed"),
                                        ("echo 1 passed, 1 failed; exit 1", "echo 30 passed, 0 failed", 1, "31 passed, 1 failed"),
                                        ("echo 2 passed, 0 failed", "echo 29 passed, 1 failed; exit 2", 1, "31 passed, 1 failed"),
                                        ("echo 2 passed, 0 failed", "echo 30 passed, 0 failed; exit 2", 1, "32 passed, 0 failed"),
                                        ("echo 2 passed, 0 failed", ":", 1, "2 passed, 1 failed")):
            (self.top / "Makefile").write_text(f"check:\n\t@{check}\ntest:\n\t@{test}\n")
            ran, lines = self.ran(".ci/run")
            self.assertEqual((ran, lines[-1]), (code, last))


class Doors(unittest.TestCase):
    """scripts/test and scripts/test-deep: what one leaves out, the other has."""

    # What needs a kernel that make test has not.
    SANITIZED = {"fault", "races"}
    # What make test has no time for. What it finds, KUnit finds there.
    DEEP = {"placed"}

    def text(self, name):
        return "".join(line for line in (TOP / name).read_text().splitlines(True) if not line.lstrip().startswith("#"))

    def test_each_suite_is_behind_a_door(self):
        doors = self.text("scripts/test") + self.text("scripts/test-deep")
        suites = {path.name for path in (TOP / "tests/suites").iterdir()}
        self.assertEqual({name for name in suites if not re.search(rf"tests/suites/{name}\b(?!-)", doors)}, set())
        # Those of make test, but for what takes long.
        deep = {"figures-twa", "nptl", "perf", "run-alock", "tla", "tsan", "user-pairs"}
        self.assertEqual({name for name in suites if not re.search(rf"tests/suites/{name}\b(?!-)", self.text("scripts/test"))}, deep)

    def test_each_job_is_run(self):
        """A job of the module is one that no script or suite boots by itself. make test has each on a kernel, but for `DEEP`."""
        booted = "".join(path.read_text() for folder in ("scripts", "tests/suites") for path in (TOP / folder).rglob("*")
                         if path.is_file() and path.suffix != ".pyc")
        jobs = {path.stem for path in (TOP / "tests/guest").glob("*.sh") if f"tests/guest/{path.name}" not in booted and path.stem != "verdict"}
        run = {door: set(re.findall(r"[ \"](stock|test)/([a-z]+)\b", self.text(door))) for door in ("scripts/test", "scripts/test-deep")}
        # (perf's own suite boots it as well.)
        self.assertEqual({job for _, job in run["scripts/test"]}, jobs - self.SANITIZED - self.DEEP | {"perf"})
        # Those that both kernels run: one in make test, and the other in test-deep.
        for kernel, job in run["scripts/test-deep"]:
            door = "scripts/test-deep" if job in self.DEEP else "scripts/test"
            self.assertIn(({"stock": "test", "test": "stock"}[kernel], job), run[door])
        self.assertEqual({job for _, job in run["scripts/test-deep"]} - self.DEEP, {"parameters", "lifecycle", "torture", "work", "perturb", "stalls"})
        self.assertLessEqual(self.DEEP, {job for _, job in run["scripts/test-deep"]})
        # What needs a sanitizer has the kernel with it.
        self.assertLessEqual({("kasan", "fault"), ("kcsan", "races")}, set(re.findall(r"\b(kasan|kcsan)/([a-z]+)\b", self.text("scripts/test-deep"))))

    def test_each_suite_of_kunit_runs_under_kcsan(self):
        """One for each lock that excludes, and those by name."""
        declared = {*re.findall(r"\b(handover_\w+)=\d+", self.text("scripts/guest/kunit")),
                    *re.findall(r"(?m)^ +(\w+): .* = (?:usual|more), ", (TOP / "rust/locks/list.rs").read_text())}
        self.assertEqual(re.findall(r"handover_\* \| wc -l\)\" -eq (\d+) \]", self.text("tests/guest/races.sh")), [str(len(declared))])

    def test_a_suite_has_all_of_its_parts(self):
        """Without a word a suite runs each part that it knows, but for those of make test-deep."""
        # Parts are the labels of a case, or a list.
        for name, known, deep in (("lockdep", r"^\t([a-z]+)\)", set()), ("kunit", r"^\t([a-z]+)\)", set()), ("deb", r'\[\[ " ([a-z ]+) " ==', {"apt"})):
            text = self.text(f"tests/suites/{name}")
            (default,) = re.findall(r"^\[ \$# -gt 0 \] \|\| (?:parts=\(|set -- )([a-z ]+)\)?$", text, re.MULTILINE)
            parts = " ".join(re.findall(known, text, re.MULTILINE)).split()
            self.assertEqual(set(default.split()), set(parts) - deep, name)
            for part in deep:
                self.assertRegex(self.text("scripts/test-deep"), rf"tests/suites/{name} .*\b{part}\b")
