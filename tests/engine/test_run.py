# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""What counts as caught, in each world."""

import contextlib
import io
import os
import pathlib
import runpy
import shutil
import signal
import subprocess
import unittest.mock

import tree
from mutant import catalogue
from mutant.engine import Stop
from tree import PLACES, Tree, bug


class Cargo(Tree):
    def test_one_that_fails(self):
        self.caught(bug(), "ok mutant p/b (caught by host a in ")

    def test_one_that_survives(self):
        self.missed(bug(new="x"), "host a passes")

    def test_one_in_the_library_of_a_package_with_a_program(self):
        self.caught(bug(caught='["host/lib a", "host a"]'), "ok mutant p/b (caught by host/lib a in ")

    def test_one_in_a_program(self):
        self.caught(bug(caught='["host/bin a"]'), "ok mutant p/b (caught by host/bin a in ")

    def test_each_test_must_find_it(self):
        good, lines = self.hunt(bug(caught='["host a", "host c"]'))
        self.assertFalse(good)
        self.assertTrue(lines[1].startswith("ok mutant p/b (caught by host a"), lines)
        self.assertEqual(lines[2:], ["not ok mutant p/b: host c passes"])

    def test_one_that_does_not_compile(self):
        self.missed(bug(new="broken"), "does not compile: ")

    def test_one_that_does_not_apply(self):
        self.missed(bug(old="line two"), "does not apply")

    def test_one_that_hangs(self):
        self.missed(bug(new="hangs a"), "neither passed nor failed within 77 s")

    def test_one_that_may_hang(self):
        self.caught(bug(new="hangs a", more="hangs = true"), "ok mutant p/b (caught by host a, which does not end")

    def test_one_that_may_hang_and_passes(self):
        self.missed(bug(new="x", more="hangs = true"), "passes")

    def test_one_that_dies(self):
        self.missed(bug(new="dies a"), "neither passed nor failed")

    def test_one_that_fails_without_a_panic(self):
        self.missed(bug(new="quiet a"), "neither passed nor failed")

    def test_by_chance(self):
        # The control is the first run.
        self.caught(bug(new="panics-at 4 a", more="tries = 3"))

    def test_by_too_little_chance(self):
        self.missed(bug(new="panics-at 5 a", more="tries = 3"), "passes 3 times")

    def test_no_bug_is_taken_for_anothers(self):
        # More than there are lanes, and those that are found before those that are not.
        found = [f"f{n}" for n in range(os.cpu_count() + 2)]
        good, lines = self.hunt("".join(bug(name) for name in found) + bug("two", new="x") +
                                bug("three", old="line three", new="panics c"))
        self.assertEqual([line.split(" (")[0] for line in lines], [
            "ok mutant control", *(f"ok mutant p/{name}" for name in found), "not ok mutant p/two: host a passes",
            "not ok mutant p/three: host a passes"])
        self.assertFalse(good)

    def test_the_tree_is_as_it_was(self):
        before = (self.top / "rust/code").read_bytes()
        self.hunt(bug())
        self.assertEqual((self.top / "rust/code").read_bytes(), before)

    def test_a_control_that_fails_stops(self):
        self.write("rust/code", "line one\npanics a\n")
        with self.assertRaisesRegex(Stop, "host a does not pass on the crates as they are"):
            self.hunt(bug())

    def test_a_control_that_does_not_compile_stops(self):
        self.write("rust/code", "line one\nbroken\n")
        with self.assertRaisesRegex(Stop, "do not compile"):
            self.hunt(bug())

    def digest(self):
        return subprocess.run(["bash", "-c", ". scripts/lib/env.sh; host_digest"], cwd=self.top, check=True, text=True, capture_output=True).stdout

    def test_what_passed_on_these_files_is_not_run_again(self):
        self.write("build/log/host.passed", f"{self.digest()}a\n")
        self.hunt(bug())
        self.assertEqual((self.top / "build/runs").read_text().split(), ["a"])

    def test_what_passed_on_others_is(self):
        self.write("build/log/host.passed", "another\na\n")
        self.hunt(bug())
        self.assertEqual((self.top / "build/runs").read_text().split(), ["a", "a"])

    def test_lines_come_in_order(self):
        _, lines = self.hunt("".join(bug(f"b{n}", more="tries = 2" if n % 2 else "") for n in range(9)))
        self.assertEqual([line.split()[2] for line in lines[1:]], [f"p/b{n}" for n in range(9)])


class Earlier(Tree):
    """What an earlier run caught is not planted again where all that it stands on is the same."""

    def runs(self, text, again=True):
        """(good, lines, how often programs ran) of a run."""
        (self.top / "build/runs").unlink(missing_ok=True)
        good, lines = self.hunt(text, takes_over=again)
        runs = self.top / "build/runs"
        return good, lines, len(runs.read_text().split()) if runs.exists() else 0

    def test_it_is_taken_over(self):
        _, first, ran = self.runs(bug())
        good, lines, ran_again = self.runs(bug())
        self.assertEqual(first[0], "ok mutant control (1 tests pass on the crates as they are)")
        self.assertEqual((good, lines[:-1]), (True, first[1:]))
        self.assertEqual(lines[-1], "# mutants (cargo): 1 of 1 were caught by an earlier run on the same files")
        # Nor is there a control, where nothing is planted.
        self.assertEqual((ran, ran_again), (2, 0))

    def test_what_is_planted_beside_has_its_control(self):
        self.runs(bug())
        good, lines, ran = self.runs(bug() + bug("new", old="line three", new="panics b", caught='["host b"]'))
        self.assertEqual((good, lines[0], ran), (True, "ok mutant control (1 tests pass on the crates as they are)", 2))

    def test_not_unless_asked(self):
        self.runs(bug())
        self.assertEqual(self.runs(bug(), again=False)[2], 2)
        self.assertEqual(self.runs(bug("other", old="line three"), again=False)[2], 2)
        self.assertEqual(self.runs(bug("other", old="line three"))[2], 2, "kept by a run that takes nothing over")

    def test_not_what_was_missed(self):
        missed = bug(new="x")
        self.assertFalse(self.runs(missed)[0])
        good, lines, ran = self.runs(missed)
        self.assertEqual((good, ran), (False, 2))
        self.assertTrue(lines[-1].startswith("not ok mutant p/b: "))

    def test_not_of_another_bug(self):
        for other in (bug(old="line three"), bug(new="panics a\nmore"), bug(caught='["host b"]', new="panics b"), bug(more="tries = 2"),
                      bug("another")):
            self.runs(bug())
            self.assertEqual(self.runs(other)[2], 2, other)
            shutil.rmtree(self.top / "cache")

    def test_not_on_another_base(self):
        both = bug("base", old="line three", new="x", caught='["host a"]') + bug(more='after = "base"')
        self.runs(both)
        _, lines, _ = self.runs(both.replace("'x'", "'y'").replace("'''x'''", "'''y'''"))
        self.assertFalse([line for line in lines if line.startswith("#")], lines)

    def test_not_on_other_files(self):
        for name in ("rust/code", "docs/results/table.csv", "docs/README.md", "scripts/build/host-deps", "scripts/in-toolbox",
                     "scripts/lib/mutant/engine.py", "qemu/packages"):
            self.runs(bug())
            self.assertEqual(self.runs(bug())[2], 0, name)
            self.write(name, (self.top / name).read_text() + "\n# more\n" if (self.top / name).exists() else "more\n")
            self.assertEqual(self.runs(bug())[2], 2, name)
        self.write("docs/claims.md", "other claims\n")
        self.assertEqual(self.runs(bug())[2], 0)

    def test_bugs_in_the_module_too(self):
        module = bug(caught='["kunit s.c"]', new="kunit not ok kunit test: s.c: it fails")
        for name in ("tests/guest/kunit.sh", "tests/suites/kunit", "scripts/guest/boot", "rust/linux/lib.rs", "Kbuild", "qemu/test.config", "qemu/init"):
            self.assertTrue(self.runs(module)[0], name)
            self.assertEqual(self.runs(module)[1], ["ok mutant p/b (caught by kunit s.c)",
                                                    "# mutants (module): 1 of 1 were caught by an earlier run on the same files"], name)
            self.write(name, (self.top / name).read_text() + "\n# more\n" if (self.top / name).exists() else "more\n")
            self.assertEqual(self.runs(module)[1], ["ok mutant p/b (caught by kunit s.c)"], name)

    @unittest.mock.patch("mutant.worlds.python.READ", ("rust", "tests/engine", "docs/results"))
    @unittest.mock.patch("mutant.worlds.python.Python.reads", ("rust", "tests/engine", "docs/results"))
    def test_bugs_in_scripts_too(self):
        for name in ("tests/engine/test_x.py", "docs/results/log.md"):
            self.write(name, "")
        scripts = bug(caught='["python test_x"]', new="fails test_x") + bug("missed", old="line three", caught='["python test_y"]')
        missed = self.runs(scripts)[1][-1]
        self.assertEqual(missed, "not ok mutant p/missed: python test_y passes")
        for name in (None, "tests/engine/test_x.py", "docs/results/log.md", "rust/linux/lib.rs"):
            # The control, and the one that was missed.
            good, lines, ran = self.runs(scripts)
            self.assertEqual((good, ran), (False, 2), name)
            self.assertEqual(lines[-2:], [missed, "# mutants (python): 1 of 2 were caught by an earlier run on the same files"])
            if name:
                self.write(name, "more\n")
                self.assertEqual(self.runs(scripts)[2], 3, name)
        self.assertEqual(self.runs(scripts, again=False)[2], 3)

    def test_not_under_another_limit(self):
        hangs = bug(new="hangs a", more="hangs = true")
        self.assertTrue(self.runs(hangs)[0])
        self.assertEqual(self.runs(hangs)[2], 0)
        self.write("bin/timeout", (self.top / "bin/timeout").read_text().replace("77", "78"))
        with unittest.mock.patch.dict("os.environ", MUTANT_LIMIT_S="78"):
            self.assertEqual(self.runs(hangs)[2], 2)

    def test_the_place_of_a_test_counts(self):
        self.runs(bug())
        with unittest.mock.patch("tree.PLACES", tree.PLACES.replace('test = "t"', 'lib = true', 1)):
            self.assertEqual(self.runs(bug())[2], 2)

    def test_it_is_forgotten(self):
        self.runs(bug())
        self.assertEqual((self.top / "build/forgotten").read_text().split(), ["30", "found-*"])
        self.assertEqual([one.name[:11] for one in (self.top / "cache").iterdir()], ["found-bugs-"])

    def test_nothing_without_a_key(self):
        self.write("scripts/lib/env.sh", "host_digest() { return 1; }\nset -e\n")
        for _ in range(2):
            good, lines, ran = self.runs(bug())
            self.assertEqual((good, len(lines), ran), (True, 2, 2))


class Guest(Tree):
    HUNG = "exit 10\nconsole ticket: writer 7 has acquired nothing for 3 s"

    def torture(self, new, more=""):
        return bug(new=new, caught='["torture ticket owner"]', more=more)

    def test_found(self):
        self.caught(self.torture("exit 0"), "ok mutant p/b (caught by torture ticket owner alone)")

    def test_not_found(self):
        self.missed(self.torture("exit 3"), "owner alone did not find it")

    def test_hangs_and_says_so(self):
        self.caught(self.torture(self.HUNG, "hangs = true"))

    def test_hangs_unexpectedly(self):
        self.missed(self.torture(self.HUNG), "which the catalogue does not say")

    def test_hangs_in_silence(self):
        self.missed(self.torture("exit 10", "hangs = true"), "the watchdog did not speak")
        self.missed(self.torture(self.HUNG.replace("ticket", "twa"), "hangs = true"), "the watchdog did not speak")

    def test_should_hang(self):
        self.missed(self.torture("exit 0", "hangs = true"), "nobody said that the lock hangs")

    def test_could_be_removed(self):
        self.missed(self.torture("exit 4", "hangs = true"), "could be removed")

    def test_could_be_started(self):
        self.missed(self.torture("exit 5", "hangs = true"), "could be started")

    def test_a_splat(self):
        self.missed(self.torture("exit 99"), "a splat")

    def test_a_splat_of_one_that_hangs(self):
        said = "\nconsole ticket: writer 7 has acquired nothing for 3 s\nstream @@ exit "
        self.caught(self.torture(f"exit 99{said}10", "hangs = true"))
        self.missed(self.torture(f"exit 99{said}3", "hangs = true"), "did not find it")

    def test_any_other_exit(self):
        self.missed(self.torture("exit 7"), "exit 7")

    def test_starves(self):
        self.caught(self.torture(self.HUNG, "hangs = true\nstarves = true"), "ok mutant p/b (caught by torture ticket owner alone, also")
        self.assertIn("--smp 4", (self.top / "boots").read_text())

    def test_hangs_on_a_realtime_kernel(self):
        said = self.HUNG.replace("exit 10\n", "exit 137\n")
        hung = "\nconsole handover: ticket: 4 writers hang and cannot be stopped"
        last = "\nconsole mutant: the lock hangs, and the module stays"
        for kernel in ("realtime", "rt"):
            more = f'hangs = true\nkernel = "{kernel}"'
            self.caught(self.torture(said + hung + last, more), f"ok mutant p/b (caught by torture ticket owner on the {kernel} kernel)")
        self.missed(self.torture(said + hung, more), "the log does not have: mutant: the lock hangs")
        self.missed(self.torture(said + last, more), "the log does not have: writers hang")
        self.missed(self.torture("exit 137" + hung + last, more), "the log does not have: ticket: writer")

    def test_words(self):
        self.caught(self.torture(self.HUNG, 'hangs = true\nwords = "stutter=1 duration=8"'))
        self.assertIn("tests/guest/mutant.sh ticket 9 stutter=1+duration=8 owner", (self.top / "boots").read_text())
        self.caught(self.torture("exit 0"))
        self.assertIn("tests/guest/mutant.sh ticket 9 - owner", (self.top / "boots").read_text())

    def test_another_kernel(self):
        self.caught(self.torture("exit 0", 'kernel = "stock"'))
        self.assertIn("--kernel stock ", (self.top / "boots").read_text())
        self.caught(self.torture("exit 0"))
        self.assertIn("--kernel test ", (self.top / "boots").read_text())
        both = bug(new="kunit not ok kunit rt: s.a: FAIL", caught='["kunit s.a"]', more='kernel = "rt"')
        self.caught(both)
        self.missed(both.replace('kernel = "rt"', ""), "s.a did not fail")

    def test_starves_in_silence(self):
        self.missed(self.torture(self.HUNG.replace("console", "console-6"), "hangs = true\nstarves = true"), "silent when every CPU")

    def test_a_control_that_finds_something(self):
        self.write("rust/code", "line one\nexit 0\n")
        self.missed(self.torture("exit 0"), "exit 0 where 3", "not ok mutant torture control")

    def test_does_not_compile(self):
        self.missed(self.torture("broken"), "does not compile: broken; see build/mutants-module/")

    def test_a_check_that_is_not_there(self):
        self.missed(bug(caught='["torture ticket onwer"]'), "the checks are")

    def test_kunit(self):
        both = bug(new="kunit not ok kunit test: s.a: FAIL\nkunit ok kunit test: s.b", caught='["kunit s.a"]')
        self.caught(both)
        self.missed(both.replace('["kunit s.a"]', '["kunit s.a", "kunit s.b"]'), "kunit s.b did not fail")
        self.missed(bug(new="kunit ok kunit test: s.a", caught='["kunit s.a"]'), "every case passed")
        self.missed(bug(new="kunit not ok kunit test: sxa: FAIL", caught='["kunit s.a"]'), "s.a did not fail")

    def test_kunit_splat(self):
        text = bug(new="kunit not ok kunit test: a splat: BUG: atomic", caught='["kunit splat"]', more="cases = 's.*'\nshows = 'atomic'")
        self.caught(text)
        self.missed(text.replace("shows = 'atomic'", "shows = 'other'"), "splat did not fail")

    def test_job(self):
        text = bug(new="exit 1\nstream not ok it works: why", caught='["job test/parameters it works"]', more="shows = 'why'")
        self.caught(text)
        self.missed(text.replace("not ok it", "ok it"), "no such verdict")
        self.missed(text.replace("shows = 'why'", "shows = 'who'"), "no such verdict")

    def test_job_that_dies(self):
        text = bug(new="exit 99\nconsole Oops: 1", caught='["job test/lifecycle dies"]', more="shows = 'Oops'")
        self.caught(text)
        self.missed(text.replace("exit 99", "exit 99\nstream @@ exit 0"), "an end")
        self.missed(text.replace("console Oops", "console other"), "no end")

    def test_must_not_compile(self):
        text = bug(new="broken nine", caught='["compile module"]', more="shows = 'nine'")
        self.caught(text)
        self.missed(text.replace("broken nine", "fine"), "it compiles")
        self.missed(text.replace("broken nine", "broken ten"), "otherwise")

    def test_disasm(self):
        text = bug(new="path a call of x", caught='["disasm twa"]', more="kernel = 'stock'\nshows = 'call of (x|y)'")
        self.caught(text)
        self.missed(text.replace("path a call", "path no call").replace("of x", "of z"), "not found: no call of z")
        self.missed(text.replace("kernel = 'stock'", ""), "kernel and shows are needed")

    def test_lockdep(self):
        text = bug(new="log ok 1 case\nlog circular a", caught='["lockdep case"]', more="shows.case = ['circular', ' a']")
        self.caught(text)
        self.missed(text.replace("log ok 1 case", "log ok 1 other"), "did not run")
        self.missed(text.replace("circular a", "circular"), "not said:  a")
        self.missed(text.replace("shows.case", "shows.other"), "does not say what is reported")

    def test_lockdep_silent(self):
        text = bug(new="log ok 1 case", caught='["lockdep case"]', more="shows.case = ['circular']\nsilent = true")
        self.caught(text)
        self.missed(text.replace("log ok 1 case", "log ok 1 case circular"), "said all the same")

    def test_leak(self):
        text = bug(new="left kmemleak finds nothing: 5 objects: unref", caught='["lockdep leak"]', more="least = 5")
        self.caught(text)
        self.missed(text.replace(": 5 objects", ": 4 objects"), "not 5 objects")
        self.missed(text.replace("left kmemleak", "right"), "not 5 objects")

    def stub(self, name, text):
        self.write(name, f"#!/bin/bash\n{text}\n")
        (self.top / name).chmod(0o755)

    def test_sample(self):
        self.stub("tests/suites/sample", """sed -n 's/^sample //p' "$1/rust/code"; exit "$(sed -n 's/^exit //p' "$1/rust/code")" """)
        text = bug(new="sample ok sample: it loads\nsample not ok sample: it builds: why\nexit 1", caught='["sample it builds"]', more="shows = 'why'")
        self.caught(text)
        self.missed(text.replace("shows = 'why'", "shows = 'who'"), "no such verdict")
        self.missed(text.replace("not ok sample: it builds", "not ok sample: it builds twice"), "no such verdict")
        self.missed(text.replace("sample not ok sample: it builds: why\n", ""), "exit 1, no such verdict")

    def locktorture(self, new, without="tortured locktorture: twa: passes\nexit 1"):
        """The bug is `new`; without it, locktorture says that."""
        self.stub("tests/suites/locktorture", """
            [ "$1 $4" = '--planted twa' ] || exit 9
            sed -n 's/^tortured //p' "$2/code" | tee /dev/stderr
            exit "$(sed -n 's/^exit //p' "$2/code")" """)
        self.write("rust/code", f"line one\n{without}\n")
        return bug(new=new, caught='["locktorture twa"]').replace("'line one'", f"'''line one\n{without}'''")

    def test_locktorture(self):
        self.caught(self.locktorture("tortured found: FAILURE\nexit 0"))
        for new in ("tortured found: FAILURE\nexit 1", "tortured it ended\nexit 0"):
            self.missed(self.locktorture(new), "it passes")

    def test_locktorture_by_chance(self):
        # The control is the first run.
        for at, tries, says in ((4, 3, None), (4, 2, "it passes 2 times"), (3, 1, "it passes;")):
            self.stub("tests/suites/locktorture", f"""
                echo >>tortured
                [ "$(wc -l <tortured)" -ne {at} ] || {{ echo "found: FAILURE"; exit; }}
                echo "locktorture: twa: passes" >&2
                exit 1""")
            (self.top / "tortured").unlink(missing_ok=True)
            text = bug(caught='["locktorture twa"]', more=f"tries = {tries}")
            self.missed(text, says) if says else self.caught(text)
        # A run that says nothing of the lock is not tried again.
        self.stub("tests/suites/locktorture", """
            echo >>tortured
            case $(wc -l <tortured) in
            1) echo "locktorture: twa: passes" >&2; exit 1 ;;
            2) exit 1 ;;
            *) echo "found: FAILURE" ;;
            esac""")
        (self.top / "tortured").unlink()
        self.missed(bug(caught='["locktorture twa"]', more="tries = 3"), "exit 1")

    def test_a_locktorture_that_cannot_run_is_no_control(self):
        for without in ("exit 1", "tortured locktorture: twa: passes\nexit 0", "tortured locktorture: twa was not tortured\nexit 1"):
            self.missed(self.locktorture("tortured found: FAILURE\nexit 0", without), "no word of passing", "not ok mutant locktorture control")


class Suite(Tree):
    SAID = "suite ok all: one\nsuite not ok all: it works: why\nexit 1"

    def suite(self, new, more="shows = 'why'"):
        return bug(new=new, caught='["suite/all all: it works"]', more=f"parts = 'one two'\n{more}")

    def test_says_not_ok(self):
        self.caught(self.suite(self.SAID), "ok mutant p/b (caught by suite/all all: it works)")

    def test_passes(self):
        self.missed(self.suite(self.SAID.replace("not ok", "ok").replace(": why", "")), "it works: passes")

    def test_says_nothing_of_it(self):
        self.missed(self.suite(self.SAID.replace("it works", "another")), "exit 1, no such verdict")

    def test_says_not_ok_and_succeeds(self):
        self.missed(self.suite(self.SAID.replace("exit 1", "exit 0")), "exit 0, no such verdict")

    def test_fails_otherwise(self):
        self.missed(self.suite(self.SAID, "shows = 'who'"), "it fails otherwise than 'who'")

    def test_nothing_else_passes(self):
        self.missed(self.suite(self.SAID.replace("suite ok all: one\n", "")), "no other verdict passes")

    def test_the_tree_is_as_it_was(self):
        before = (self.top / "rust/code").read_bytes()
        self.hunt(self.suite(self.SAID))
        self.assertEqual((self.top / "rust/code").read_bytes(), before)


class Python(Tree):
    def setUp(self):
        super().setUp()
        patch = unittest.mock.patch("mutant.worlds.python.READ", ("rust",))
        patch.start()
        self.addCleanup(patch.stop)

    def python(self, new, caught='["python t.T.a", "python t.T.b"]'):
        return bug(new=new, caught=caught)

    def test_each_test_must_find_it(self):
        self.caught(self.python("fails t.T.a\nfails t.T.b"), "ok mutant p/b (caught by python t.T.a)")
        self.caught(self.python("fails t.T.a\nfails t.T.b"), "ok mutant p/b (caught by python t.T.b)")
        good, lines = self.hunt(self.python("fails t.T.b"))
        self.assertFalse(good)
        self.assertEqual(lines[1:], ["not ok mutant p/b: python t.T.a passes", "ok mutant p/b (caught by python t.T.b)"])

    def test_one_that_survives(self):
        self.missed(self.python("x", '["python t.T.a"]'), "python t.T.a passes")

    def test_another_tests_failure_is_no_catch(self):
        self.missed(self.python("silent t.T.a\nfails t.T.b"), "t.T.a neither passed nor failed")
        self.missed(self.python("fails t.T.aa", '["python t.T.a"]'), "python t.T.a passes")

    def test_an_end_of_another_kind_is_no_catch(self):
        self.missed(self.python("fails t.T.a\nexit 2", '["python t.T.a"]'), "neither passed nor failed")

    def test_a_control_that_fails_stops(self):
        self.write("rust/code", "line one\nfails t.T.a\n")
        with self.assertRaisesRegex(Stop, "do not pass on the engine as it is"):
            self.hunt(self.python("x"))

    def test_the_tree_is_as_it_was(self):
        before = (self.top / "rust/code").read_bytes()
        self.hunt(self.python("fails t.T.a\nfails t.T.b"))
        self.assertEqual((self.top / "rust/code").read_bytes(), before)


class Door(Tree):
    """scripts/lib/mutant.py itself: its exit, and what it prints."""

    def main(self, *words):
        main = runpy.run_path(str(pathlib.Path(catalogue.__file__).parents[1] / "mutant.py"))["main"]
        # It takes the signals of its process.
        signals = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                code = main(list(words), self.top)
        finally:
            for number, each in signals.items():
                signal.signal(number, each)
        return code, out.getvalue().splitlines()

    CLAIM = "[[claim]]\ntext = 'a claim'\ncheck = 'a check'\nbugs = ['b']\n"

    def test_check(self):
        self.catalogues(PLACES + self.CLAIM + bug())
        self.assertEqual(self.main("check"), (0, []))
        self.catalogues(PLACES + bug())
        self.assertEqual(self.main("check"), (1, ["p/b: no claim names it"]))
        self.catalogues(PLACES + self.CLAIM + bug(old="no such line"))
        code, lines = self.main("check")
        self.assertEqual((code, len(lines)), (1, 1))

    def test_claims(self):
        self.catalogues(PLACES + self.CLAIM + bug())
        self.assertEqual(self.main("claims", str(self.top / "docs/claims.md"))[0], 1)
        self.assertEqual(self.main("claims"), (0, []))
        self.assertIn("a claim", (self.top / "docs/claims.md").read_text())
        self.assertEqual(self.main("claims", str(self.top / "docs/claims.md")), (0, []))

    def test_a_bug_that_survives_fails_the_run(self):
        self.catalogues(PLACES + bug() + bug("c", new="x"))
        self.assertEqual(self.main("p/b")[0], 0)
        code, lines = self.main("p/c")
        self.assertEqual((code, lines[-1]), (1, "not ok mutant p/c: host a passes"))
        self.assertEqual(self.main("p")[0], 1)

    def test_only_what_is_asked_for(self):
        self.catalogues(PLACES + bug(more="deep = false") + bug("c", caught='["python t.T.a"]') + bug("d", more="deep = true"))
        self.assertEqual(self.main("list"), (0, ["p/b\thost a", "p/c\tpython t.T.a", "p/d\thost a"]))
        self.assertEqual(self.main("list", "--door", "test-deep"), (0, ["p/d\thost a"]))
        self.assertEqual(self.main("list", "--door", "test", "--worlds", "cargo"), (0, ["p/b\thost a"]))
        shares = [self.main("list", "--share", f"{k}/2")[1] for k in (1, 2)]
        self.assertEqual(shares, [["p/b\thost a", "p/d\thost a"], ["p/c\tpython t.T.a"]])
        self.assertEqual(self.main("list", "--worlds", "python", "--share", "1/2"), (0, ["p/c\tpython t.T.a"]))
        for share in ("0/2", "3/2", "1", "1/0", "a/b", "1/2/3", "-1/2", ""):
            with self.assertRaisesRegex(catalogue.Refused, f"^--share {share}: allowed: K/N, from 1/N to N/N$"):
                self.main("list", "--share", share)
        with self.assertRaisesRegex(catalogue.Refused, "^none of "):
            self.main("list", "--share", "4/4")
        for words, why in ((["--door", "back"], "--door back: allowed: "), (["--worlds", "other"], "no world is called other"), (["x"], "x")):
            with self.assertRaisesRegex(catalogue.Refused, why):
                self.main(*words)


class Search(Tree):
    def spin(self, new, shows="shows = 'deadlock'", search="safety"):
        return bug(file="tests/models/spin/model", old="code", new=new, caught=f'["spin {search}"]', more=shows)

    def test_shows_it(self):
        self.caught(self.spin("shown deadlock\nshown 5 states"), "ok mutant p/b (caught by spin safety, which shows deadlock: 5 states)")

    def test_shows_another(self):
        self.missed(self.spin("shown exclusion"), "shows exclusion, not deadlock")

    def test_shows_nothing(self):
        self.missed(self.spin("x"), "shows nothing, not deadlock")

    def test_holds(self):
        self.missed(self.spin("shown holds", "shows = 'holds'"), "does not say what it shows")
        self.missed(self.spin("shown holds", ""), "does not say what it shows")

    def test_a_search_that_is_not_there(self):
        self.missed(self.spin("shown deadlock", search="savety"), "no such search")


class Run(Tree):
    def test_a_fault_of_the_engine_is_no_catch(self):
        catalogues = self.catalogues(PLACES + bug())
        from mutant.engine import Engine, World

        class Broken(World):
            title, names = "broken", ("host",)

            def hunt(self, lane, bug, catches):
                raise KeyError("x")

        class Idle(Broken):
            def hunt(self, lane, bug, catches):
                return []

        for world, why in ((Broken, "the engine failed"), (Idle, "no world looked at it")):
            engine = Engine(self.top, catalogues)
            lines = engine.hunt(world(engine), 0, catalogues["p"].bugs["b"])
            self.assertFalse(lines[0][0])
            self.assertIn(why, lines[0][1])

    def test_a_run_that_is_stopped_begins_no_other(self):
        catalogues = self.catalogues(PLACES + bug("one") + bug("two") + bug("three"))
        from mutant.engine import Engine, World
        for at_once in (True, False):
            begun = []

            class Stopped(World):
                title, names, beside = "stopped", ("host",), at_once

                def lanes(self):
                    return 1

                def hunt(self, lane, bug, catches):
                    begun.append(bug.name)
                    self.shell.stop()
                    return [self.verdict(True, bug.full, "caught")]

            engine = Engine(self.top, catalogues, io.StringIO(), io.StringIO())
            with self.assertRaisesRegex(Stop, "^the run was stopped$"):
                engine.run([Stopped(engine)], catalogue.find(catalogues, ["p"]))
            self.assertEqual(begun, ["one"])

    def test_only_those_that_are_named(self):
        _, lines = self.hunt(bug("one") + bug("two"), ["two"])
        self.assertEqual([line.split()[2] for line in lines], ["control", "p/two"])

    def test_every_world_has_its_bugs(self):
        from mutant.worlds import ALL
        self.assertEqual(sorted(name for world in ALL for name in world.names), sorted(catalogue.WORLDS))
