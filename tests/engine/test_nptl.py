# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/lib/nptl: which of glibc's tests there are, what a run of one says, and the table of all."""

import contextlib
import csv
import io
import json
import pathlib
import re
import runpy
import shutil
import sys
import tempfile
import time
import unittest
import unittest.mock

from nptl import building, judging, running, selection
from nptl.judging import CONTROL, FAIL, LEFT, NOT, PASS, Ended

TOP = pathlib.Path(__file__).resolve().parents[2]
GOOD = Ended(0, "")


def stats(lock="mcs", wait="park", **counts):
    """A process's line of statistics."""
    return f"handover: lock={lock} wait={wait} " + " ".join(
        f"{name}={counts.get(name, 0)}" for name in (*judging.MUTEXES, *judging.CONDS, "left_mutexes", "left_conds")) + "\n"


def a_test(**changed):
    return {"name": "tst-one", "left_out": "", "calls": ["pthread_mutex_lock"], "kinds": [], "env": {}, "modules": [], **changed}


class Folder(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.top)

    def write(self, name, text, mode=0o644):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path


class Selection(Folder):
    def select(self):
        return selection.select(self.top)

    def test_a_mention_selects(self):
        for name, text in (("tst-a", "pthread_mutex_lock"), ("tst-b", "xpthread_cond_wait (&c, &m);"), ("tst-c", "mtx_lock"),
                           ("tst-d", "cnd_init"), ("tst-none", "pthread_create"), ("test-e", "pthread_cond_t"), ("other", "mtx_lock")):
            self.write(f"nptl/{name}.c", text)
        self.write("sysdeps/pthread/tst-f.c", "pthread_mutex_init")
        self.assertEqual(list(self.select()), ["test-e", "tst-a", "tst-b", "tst-c", "tst-d", "tst-f"])
        self.assertEqual(self.select()["tst-f"].file, "sysdeps/pthread/tst-f.c")

    def test_a_comment_does_not_select(self):
        self.write("nptl/tst-a.c", "/* pthread_mutex_lock\n */ int a; // mtx_lock\n")
        self.assertEqual(self.select(), {})

    def test_what_is_included_selects(self):
        self.write("sysdeps/pthread/tst-a.c", "pthread_mutex_lock")
        self.write("sysdeps/pthread/tst-b.c", '#define X\n#include "tst-a.c"\n')
        self.write("nptl/tst-c.c", ' # include "tst-b.c"\n')
        self.write("nptl/tst-d.c", '#include <tst-a.c>\n')
        self.assertEqual(list(self.select()), ["tst-a", "tst-b", "tst-c"])

    def test_files_that_include_each_other(self):
        self.write("nptl/tst-a.c", '#include "tst-b.c"\npthread_mutex_lock')
        self.write("nptl/tst-b.c", '#include "tst-a.c"\n')
        self.assertEqual(list(self.select()), ["tst-a", "tst-b"])

    def test_the_makefiles_lists(self):
        for name in ("tst-a", "tst-static", "tst-printed", "tst-mod"):
            self.write(f"nptl/{name}.c", "pthread_mutex_lock")
        self.write("nptl/Makefile", "tests = tst-a \\\n  tst-static \\\n  # tests\ntests-static += tst-static\nmodules-names = tst-mod\n")
        self.write("sysdeps/pthread/Makefile", "tests-printers := \\\n  tst-printed \\\n  # tests-printers\n")
        found = self.select()
        self.assertEqual(found["tst-a"].left_out, "")
        for name, why in (("tst-static", "linked statically"), ("tst-printed", "gdb"), ("tst-mod", "no test")):
            self.assertIn(why, found[name].left_out)

    def test_the_makefiles_options(self):
        self.write("nptl/tst-a.c", "pthread_mutex_lock")
        self.write("nptl/tst-initializers1-c89.c", "pthread_mutex_t")
        self.write("nptl/tst-initializers1-c89.c", "pthread_mutex_lock")
        self.write("nptl/Makefile", "CFLAGS-tst-a.c += -fexceptions $(more) -Wno-error\ntst-a-ENV = A=B=C D=$(objpfx)x\n"
                                    "$(objpfx)tst-a.out: $(objpfx)tst-amod.so $(libs)\n")
        found = self.select()
        self.assertEqual((found["tst-a"].flags, found["tst-a"].env, found["tst-a"].modules),
                         (["-fexceptions", "-Wno-error"], {"A": "B=C"}, ["tst-amod"]))
        self.assertEqual(found["tst-initializers1-c89"].flags, ["-std=c89"])


class Building(unittest.TestCase):
    def test_why_a_test_does_not_compile(self):
        for said, due in (
                ("a.c:1:10: fatal error: pthreadP.h: No such file or directory\n", "needs glibc's own header pthreadP.h"),
                ("ld: a.o: in function `f':\na.c: undefined reference to `lll_lock'\n", "needs glibc's own function lll_lock"),
                ("a.c:3:1: error: unknown type name 'x'\n", "does not compile outside glibc: unknown type name 'x'"),
                ("", "does not compile outside glibc")):
            self.assertEqual(building.why(said), due)

    def test_kinds_are_those_of_its_own_text(self):
        text = '# 1 "/usr/include/pthread.h" 1\nPTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_INHERIT\n# 5 "/src/nptl/tst-a.c" 2\n' \
               "x = PTHREAD_MUTEX_RECURSIVE_NP;\ny = PTHREAD_PROCESS_SHARED;\n"
        self.assertEqual(building.kinds_in(text, "/src"), ["recursive", "process shared"])
        self.assertEqual(building.kinds_in(text, "/usr"), ["robust", "priority inheritance"])
        for call, due in (("setpshared (&a, 1)", ["process shared"]), ("setpshared (&a, 0)", [])):
            self.assertEqual(building.kinds_in(f'# 1 "/src/a.c"\nif (pthread_mutexattr_{call} != 0)\n', "/src"), due)

    def test_calls_of_a_program(self):
        said = "                 U pthread_mutex_lock@GLIBC_2.2.5\n                 U pthread_mutexattr_init@GLIBC_2.34\n" \
               "                 U pthread_cond_wait@GLIBC_2.3.2\n                 U mtx_lock@GLIBC_2.34\n                 U xmtx_lock\n"
        self.assertEqual(building.CALLS.findall(said), ["pthread_mutex_lock", "pthread_cond_wait", "mtx_lock"])


class Judging(unittest.TestCase):
    def judged(self, said, status=0, control=GOOD, **changed):
        return judging.judge(a_test(**changed), "mcs", control, Ended(status, said))

    def test_a_pass_says_what_is_ours(self):
        for name in judging.MUTEXES:
            self.assertEqual(self.judged(stats(**{name: 1})), (PASS, "ours: mutexes"))
        for name in judging.CONDS:
            self.assertEqual(self.judged(stats(**{name: 1})), (PASS, "ours: condition variables"))
        self.assertEqual(self.judged(stats(locks=3, cond_waits=1)), (PASS, "ours: mutexes, condition variables"))

    def test_a_pass_says_what_is_left(self):
        said = stats(locks=1, left_mutexes=2, left_conds=1)
        self.assertEqual(self.judged(said, kinds=["robust"]),
                         (PASS, "ours: mutexes; left to glibc: mutexes, condition variables (robust)"))

    def test_left_to_glibc_whole(self):
        self.assertEqual(self.judged(stats(left_mutexes=2), kinds=["robust", "process shared"]),
                         (LEFT, "every call: mutexes (robust, process shared)"))
        self.assertEqual(self.judged(stats(left_conds=1)), (LEFT, "every call: condition variables"))

    def test_the_statistics_of_all_processes_count(self):
        self.assertEqual(self.judged("..." + stats(left_mutexes=2) + stats(cond_waits=1)),
                         (PASS, "ours: condition variables; left to glibc: mutexes"))
        self.assertEqual(judging.statistics(stats(locks=2) + "x\n" + stats(locks=3), "mcs")["locks"], 5)

    def test_a_library_that_is_not_in_force(self):
        for said in ("", stats(lock="twa", locks=1), stats(wait="spin", locks=1)):
            verdict, reason = self.judged(said)
            self.assertEqual(verdict, FAIL)
            self.assertIn("not in force", reason)

    def test_a_failure_says_why(self):
        for status in (1, 77, -11, None):
            self.assertEqual(self.judged("begins\nerror: tst-a.c:7: mutex_lock failed\nends\n" + stats(locks=1), status)[0], FAIL)
        self.assertEqual(self.judged("begins\nerror: tst-a.c:7: mutex_lock failed\nends\n" + stats(locks=1), 1)[1], "mutex_lock failed")
        self.assertEqual(self.judged(stats(locks=1) + "round 1\nround 2\n", 1)[1], "round 2")
        self.assertEqual(self.judged("Timed out: killed the child process\n" + stats(), 1)[1], "Timed out: killed the child process")
        self.assertEqual(self.judged(stats(locks=1), 3)[1], "status 3")
        self.assertEqual(self.judged(stats(locks=1), None)[1], "it does not end")

    def test_the_control_decides(self):
        said = stats(locks=1)
        for status in (0, 1):
            self.assertEqual(self.judged(said, status, Ended(1, "no such thing\n")),
                             (NOT, "fails with glibc's own as well: no such thing"))
            self.assertEqual(self.judged(said, status, Ended(77, "error: needs root\n")), (NOT, "unsupported here: error: needs root"))
            self.assertEqual(self.judged(said, status, Ended(None, "x")), (NOT, "fails with glibc's own as well: it does not end"))
        self.assertEqual(judging.control_says(a_test(), GOOD)[0], PASS)

    def test_a_test_that_is_left_out_says_why(self):
        test = a_test(left_out="needs glibc's own header x.h")
        self.assertEqual(judging.control_says(test, None), (NOT, "needs glibc's own header x.h"))
        self.assertEqual(judging.judge(test, "mcs", None, None), (NOT, "needs glibc's own header x.h"))

    def test_no_call_that_could_be_ours(self):
        self.assertEqual(self.judged(stats(), calls=["mtx_lock"])[0], NOT)
        self.assertIn("C11", self.judged(stats(), calls=["mtx_lock"])[1])
        self.assertEqual(self.judged(stats(), calls=[]), (NOT, "no call of a function that is replaced"))
        self.assertEqual(self.judged(stats())[0], PASS)
        self.assertIn("not counted", self.judged(stats())[1])

    def test_words_are_the_same_in_each_run(self):
        self.assertEqual(judging.steady("error: ../x/tst-a.c:77: not true: 0x7fff12"), "not true: 0x...")
        self.assertEqual(judging.steady("cannot open /tmp/tmp123/file"), "cannot open file")


class Running(Folder):
    def setUp(self):
        super().setUp()
        # As handover-run: the last words are the program; it tells of the lock.
        self.runner = self.write("run", '#!/bin/sh\n[ "$1 $3 $4" = "--library --stats --lock" ] && [ "$6" = -- ] || exit 9\n'
                                 'HANDOVER_LOCK=$5 "$7"\nrc=$?\nsed "s/LOCK/$5/" "$2" >&2\nexit $rc\n', 0o755)
        self.library = self.write("library", stats(lock="LOCK", locks=1))

    def rows(self, program, **changed):
        self.write("tst-one", "#!/bin/sh\n" + program, 0o755)
        test = a_test(**changed)
        ended = running.run_all(self.top, test, self.runner, self.library, ["mcs", "twa"])
        return {row[2]: row[3] for row in running.rows_of("2.0", test, ended, ["mcs", "twa"])}

    def test_a_row_for_the_control_and_each_lock(self):
        self.assertEqual(self.rows("exit 0\n"), {CONTROL: PASS, "mcs": PASS, "twa": PASS})

    def test_a_failure_under_one_lock(self):
        self.assertEqual(self.rows('[ "${HANDOVER_LOCK:-}" != twa ]\n'), {CONTROL: PASS, "mcs": PASS, "twa": FAIL})

    def test_a_control_that_fails(self):
        self.assertEqual(self.rows('[ -n "${HANDOVER_LOCK:-}" ]\n'), {CONTROL: NOT, "mcs": NOT, "twa": NOT})

    def test_a_test_that_is_left_out_is_not_run(self):
        self.assertEqual(self.rows(f"touch {self.top}/ran\n", left_out="why"), {CONTROL: NOT, "mcs": NOT, "twa": NOT})
        self.assertFalse((self.top / "ran").exists())

    def test_a_program_gets_its_environment_and_a_folder(self):
        self.assertEqual(self.rows('[ "$A" = b ] && [ "$(pwd)" = "$TMPDIR" ] && [ "$(ls | wc -l)" = 0 ] && touch x\n', env={"A": "b"})[CONTROL], PASS)

    def test_what_does_not_end_is_ended_with_all_that_it_began(self):
        began = self.write("began", "")
        program = self.write("hangs", f"#!/bin/sh\nsleep 600 &\necho $! >{began}\nwait\n", 0o755)
        self.assertIsNone(running.run([program], {}, 3).status)
        stat, until = pathlib.Path(f"/proc/{began.read_text().strip()}/stat"), time.monotonic() + 30
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            while stat.read_text().split()[2] not in "ZX":
                self.assertLess(time.monotonic(), until, "it goes on")

    def test_a_status_and_what_was_said(self):
        program = self.write("says", "#!/bin/sh\necho out\necho err >&2\nexit 5\n", 0o755)
        self.assertEqual(running.run([program], {}), Ended(5, "out\nerr\n"))

    def test_only_what_ran_is_a_check_that_passed(self):
        row = ("tst-a", "2.0", "mcs")
        self.assertEqual(running.line((*row, PASS, "why")), "ok nptl 2.0/tst-a/mcs (pass: why)")
        self.assertEqual(running.line((*row, LEFT, "why")), "ok nptl 2.0/tst-a/mcs (left to glibc: why)")
        self.assertEqual(running.line((*row, NOT, "why")), "# not applicable nptl 2.0/tst-a/mcs: why")
        self.assertEqual(running.line((*row, FAIL, "why")), "not ok nptl 2.0/tst-a/mcs: why")

    def test_mutexes_alone_must_fail(self):
        name = "nptl 2.0/tst-cond2/mcs, mutexes alone"
        for ended, due in ((GOOD, f"not ok {name}: it passes"), (Ended(1, "wait failed\n"), f"ok {name} (wait failed)"),
                           (Ended(None, ""), f"ok {name} (it does not end)")):
            with unittest.mock.patch.object(running, "run", return_value=ended) as ran:
                self.assertEqual(running.alone(self.top, "2.0", "/a/library", "mcs"), due)
            (command, env, limit), _ = ran.call_args
            self.assertEqual(command[0], self.top / "tst-cond2")
            self.assertEqual(env, {"LD_PRELOAD": f"{self.top}/conditions_of_glibc.so:/a/library", "HANDOVER_LOCK": "mcs"})
            self.assertLessEqual(limit, 60)

    def test_all_tests_of_all_folders(self):
        for folder, version in (("a", "2.1"), ("b", "2.0")):
            self.write(f"{folder}/version", f"#!/bin/sh\necho {version}\n", 0o755)
            self.write(f"{folder}/tst-one", "#!/bin/sh\n[ $0 != " + str(self.top) + "/b/tst-one ] || exit 1\n", 0o755)
            self.write(f"{folder}/tst-cond2", "#!/bin/sh\nexit 1\n", 0o755)
            self.write(f"{folder}/tests.json", json.dumps([a_test(), a_test(name="tst-two", left_out="no header")]))
        table, printed = self.top / "table.csv", io.StringIO()
        with unittest.mock.patch.object(running, "locks_of", lambda library: ["mcs"]), contextlib.redirect_stdout(printed):
            running.main([str(self.runner), str(self.library), str(table), "--", str(self.top / "a"), str(self.top / "b")])
        with open(table, newline="") as file:
            rows = judging.read(file)
        self.assertEqual([row[:4] for row in rows], [
            ("tst-one", "2.1", CONTROL, PASS), ("tst-one", "2.1", "mcs", PASS),
            ("tst-two", "2.1", CONTROL, NOT), ("tst-two", "2.1", "mcs", NOT),
            ("tst-one", "2.0", CONTROL, NOT), ("tst-one", "2.0", "mcs", NOT),
            ("tst-two", "2.0", CONTROL, NOT), ("tst-two", "2.0", "mcs", NOT)])
        self.assertEqual(judging.faults(rows), [])
        said = printed.getvalue().splitlines()
        self.assertEqual(sum(line.startswith("ok ") for line in said), 2 + 2)
        self.assertTrue(any(line.startswith("ok nptl 2.0/tst-cond2/mcs, mutexes alone (") for line in said), said)

    def test_the_librarys_locks(self):
        with unittest.mock.patch.object(running, "run", lambda *_: Ended(127, "handover: HANDOVER_LOCK=?: allowed: mcs, twa\n")):
            self.assertEqual(running.locks_of("x"), ["mcs", "twa"])
        with unittest.mock.patch.object(running, "run", lambda *_: Ended(0, "")), self.assertRaises(SystemExit):
            running.locks_of("x")


ROWS = [("tst-a", "2.1", lock, verdict, why) for lock, verdict, why in ((CONTROL, PASS, "control"), ("mcs", PASS, "ours"), ("twa", LEFT, "kind"))] \
    + [("tst-b", "2.1", lock, NOT, "header") for lock in (CONTROL, "mcs", "twa")]


class Tables(Folder):
    def report(self, *tables, tests=()):
        """(exit status, lines) of scripts/report/nptl."""
        names = []
        for number, rows in enumerate(tables):
            names.append(str(self.top / f"{number}.csv"))
            with open(names[-1], "w", newline="") as file:
                judging.write(rows, file)
        printed, status = io.StringIO(), 0
        with unittest.mock.patch.object(sys, "argv", ["nptl", *names, *tests]), contextlib.redirect_stdout(printed):
            try:
                runpy.run_path(str(TOP / "scripts/report/nptl"), run_name="__main__")
            except SystemExit as ended:
                status = ended.code
        return status, printed.getvalue().strip().splitlines()

    def test_the_same_table(self):
        self.assertEqual(self.report(ROWS, ROWS), (0, []))
        self.assertEqual(self.report(ROWS, ROWS[::-1]), (0, []))

    def test_some_tests_alone(self):
        some = [row for row in ROWS if row[0] == "tst-a"]
        self.assertEqual(self.report(ROWS, some, tests=["tst-a"]), (0, []))
        self.assertEqual(self.report(ROWS, some, tests=["tst-a", "tst-b"])[0], 1)
        self.assertEqual(self.report(ROWS, some, tests=["tst-b"])[0], 1)

    def changed(self, index, **values):
        row = dict(zip(judging.COLUMNS, ROWS[index]), **values)
        return [*ROWS[:index], tuple(row.values()), *ROWS[index + 1:]]

    def test_each_difference_is_told(self):
        for found, due in ((self.changed(1, verdict=FAIL), "2.1/tst-a/mcs: fail: ours; kept: pass: ours"),
                           (self.changed(2, reason="other"), "2.1/tst-a/twa: left to glibc: other; kept: left to glibc: kind")):
            self.assertEqual(self.report(ROWS, found), (1, [due]))

    def test_a_row_that_is_missing(self):
        status, lines = self.report(ROWS, [row for row in ROWS if row[:3] != ("tst-a", "2.1", "mcs")])
        self.assertEqual((status, lines[-1]), (1, "2.1/tst-a/mcs: no row; kept: pass: ours"))
        status, lines = self.report(ROWS, [row for row in ROWS if row[0] != "tst-b"])
        self.assertEqual((status, len(lines)), (1, 3))
        self.assertEqual(self.report([row for row in ROWS if row[0] != "tst-b"], ROWS)[0], 1)
        self.assertEqual(self.report([], [])[0], 1)

    def test_a_row_without_a_reason(self):
        for reason in ("", " "):
            rows = self.changed(3, reason=reason)
            self.assertEqual(self.report(rows, rows), (1, [f"2.1/tst-b/{CONTROL}: no reason"]))

    def test_an_unknown_verdict(self):
        rows = self.changed(1, verdict="skipped")
        self.assertEqual(self.report(rows, rows)[0], 1)

    def test_a_table_without_controls(self):
        rows = [row for row in ROWS if row[2] != CONTROL]
        self.assertEqual(self.report(rows, rows)[0], 1)

    def test_the_summary(self):
        self.assertEqual(judging.summary(ROWS), [("2.1", CONTROL, 1, 0, 1, 0), ("2.1", "mcs", 1, 0, 1, 0), ("2.1", "twa", 0, 1, 1, 0)])
        self.assertEqual(judging.reasons(ROWS), (["2.1"], [(PASS, "ours", 1), (LEFT, "kind", 1), (NOT, "header", 1)]))
        self.assertIn("| 2.1 | twa | 0 | 1 | 1 | 0 |", self.report(ROWS)[1])

    def test_the_kept_table(self):
        """The kept table has a reason in each row and no failure, and the page has its numbers."""
        with open(TOP / "docs/results/data/nptl.csv", newline="") as file:
            kept = judging.read(file)
        self.assertEqual(judging.faults(kept), [])
        self.assertEqual({row[1] for row in kept}, {"2.41", "2.36"})
        self.assertEqual([row for row in kept if row[3] == FAIL], [])
        page = (TOP / "docs/results/nptl.md").read_text().partition("## The last run")[2]
        tables = [line for line in page.splitlines() if re.match(r"\| (2\.|pass|left to|not app|fail)", line)]
        counted = {}
        with open(TOP / "docs/results/data/nptl.csv", newline="") as file:
            for row in csv.DictReader(file):
                counted.setdefault((row["glibc"], row["lock"]), []).append(row["verdict"])
        for (glibc, lock), verdicts in counted.items():
            numbers = " | ".join(str(verdicts.count(verdict)) for verdict in (PASS, LEFT, NOT, FAIL))
            self.assertIn(f"| {glibc} | {lock} | {numbers} |", tables)
        self.assertEqual(tables, [line for line in judging.page(kept) if re.match(r"\| (2\.|pass|left to|not app|fail)", line)])
