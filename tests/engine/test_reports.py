# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/report/{recount,summarize,kunit-lines} and scripts/guest/{told,unpack-stream}, as they are called: with files, and with
what they say."""

import base64
import contextlib
import csv
import gzip
import io
import json
import pathlib
import random
import runpy
import statistics
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

TOP = pathlib.Path(__file__).resolve().parents[2]
WORKLOAD = {"cs_steps": "20", "ncs_steps": "400", "checks": "owner+order", "duration": "1", "stall_secs": "10", "seed": "7",
            "nice": "19"}


def a_run(lock, writers, acquisitions, seconds="1.000000", least="1", most="2", jain="0.900000", failures="0", **others):
    return {"lock": lock, "writers": str(writers), "seconds": seconds, "acquisitions": str(acquisitions), "min": least,
            "max": most, "jain": jain, "failures": failures} | WORKLOAD | others


def ran(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


def called(script, *words, said=""):
    """A script in Python, called with words and an input: its exit and what it says. (The toolbox's Python starts no other.)"""
    out, code = io.StringIO(), 0
    with unittest.mock.patch.object(sys, "argv", [script, *(str(word) for word in words)]), contextlib.redirect_stdout(out), \
            unittest.mock.patch.object(sys, "stdin", io.StringIO(said)):
        try:
            runpy.run_path(str(TOP / script), run_name="__main__")
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue()


class Summarize(unittest.TestCase):
    def rows(self, runs):
        text = io.StringIO()
        table = csv.DictWriter(text, list(runs[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(runs)
        code, made = called("scripts/report/summarize", said=text.getvalue())
        self.assertEqual(code, 0)
        return {(row["lock"], row["writers"]): row for row in csv.DictReader(io.StringIO(made))}

    def test_each_number_is_of_its_lock_and_writers(self):
        rates = {("twa", 2): [700, 100, 400], ("raw_spin_lock", 2): [300, 900, 500], ("twa", 4): [90], ("raw_spin_lock", 4): [60]}
        rows = self.rows([a_run(lock, writers, rate) for (lock, writers), runs in rates.items() for rate in runs])
        self.assertEqual(len(rows), len(rates))
        for (lock, writers), runs in rates.items():
            row = rows[lock, str(writers)]
            base = statistics.median(rates["raw_spin_lock", writers])
            self.assertEqual([row["runs"], row["median_per_s"], row["min_per_s"], row["max_per_s"]],
                             [str(number) for number in (len(runs), round(statistics.median(runs)), min(runs), max(runs))])
            self.assertAlmostEqual(float(row["ratio"]), statistics.median(runs) / base, places=3)
            self.assertEqual({name: row[name] for name in WORKLOAD}, WORKLOAD)

    def test_rows_come_by_number_and_then_as_they_came(self):
        runs = [a_run(lock, writers, 9) for writers in (2, 16, 1) for lock in ("twa", "mcs", "clh")]
        self.assertEqual(list(self.rows(runs)), [(lock, writers) for writers in ("1", "2", "16") for lock in ("twa", "mcs", "clh")])

    def test_rows_of_several_experiments_say_so(self):
        runs = [a_run("twa", 2, 9, cs_steps=steps, seed=seed) for steps, seed in (("40", "7"), ("20", "7"), ("40", "8"))]
        row = self.rows(runs)["twa", "2"]
        self.assertEqual([row[name] for name in ("cs_steps", "seed", "ncs_steps", "nice")], ["20 40", "7 8", "400", "19"])

    def test_the_time_of_a_run_counts(self):
        self.assertEqual(self.rows([a_run("twa", 1, 900, seconds="4.500000")])["twa", "1"]["median_per_s"], "200")

    def test_the_worst_run_says_what_is_fair(self):
        runs = [a_run("twa", 2, 9, least="30", most="60", jain="0.800000"), a_run("twa", 2, 9, least="2", most="7", jain="0.700000"),
                a_run("twa", 2, 9, least="4", most="5", jain="0.990000"), a_run("twa", 2, 9, least="1", most="1", jain="1.000000")]
        row = self.rows(runs)["twa", "2"]
        self.assertEqual([row["max_over_min"], row["jain"]], ["3.5", "0.7"])

    def test_a_starved_writer_is_no_number(self):
        row = self.rows([a_run("twa", 2, 9, least="4", most="5"), a_run("twa", 2, 9, least="0", most="9")])["twa", "2"]
        self.assertEqual(row["max_over_min"], "inf")

    def test_three_digits_are_kept(self):
        rows = self.rows([a_run("twa", 2, 20, least="3", most="10"), a_run("raw_spin_lock", 2, 30, least="7", most="15")])
        self.assertEqual([rows[lock, "2"][name] for lock in ("twa", "raw_spin_lock") for name in ("ratio", "max_over_min")],
                         ["0.667", "3.333", "1.0", "2.143"])

    def test_failures_are_summed(self):
        runs = [a_run("busted", 2, 9, failures=count) for count in ("3", "0", "4")]
        self.assertEqual(self.rows(runs)["busted", "2"]["failures"], "7")

    def test_without_the_kernels_lock_there_is_no_ratio(self):
        self.assertEqual(self.rows([a_run("twa", 1, 9)])["twa", "1"]["ratio"], "")
        self.assertEqual(self.rows([a_run("twa", 1, 9), a_run("spin_lock", 1, 18)])["twa", "1"]["ratio"], "0.5")

    def test_the_ratio_is_to_the_kernels_lock_as_c_calls_it(self):
        for order in (1, -1):
            runs = [a_run("twa", 1, 9), a_run("spin_lock", 1, 18), a_run("raw_spin_lock", 1, 36), a_run("raw_spin_lock", 2, 9)][::order]
            rows = self.rows(runs)
            self.assertEqual([rows[lock, "1"]["ratio"] for lock in ("twa", "spin_lock", "raw_spin_lock")], ["0.25", "0.5", "1.0"])


class Recount(unittest.TestCase):
    def said(self, *summary, rows=1):
        with tempfile.TemporaryDirectory() as at:
            names = []
            # A run of one writer.
            results = {"lock": "twa", "writers": 1, "run": 1, "seconds": "1.000000", "acquisitions": 5, "min": 5, "max": 5,
                       "jain": "1.000000", "steal_ns": 0, "duration": 1}
            results |= {f"{kind}_failures": 0 for kind in "owner counter order progress wait deadlock".split()}
            results |= {"failures": 0, "hung": 0}
            writers = {"lock": "twa", "writers": 1, "run": 1, "writer": 1, "acquisitions": 5, "total": 6}
            writers |= {f"{kind}_failures": 0 for kind in "owner order wait deadlock".split()}
            for name, row in {"results": results, "writers": writers}.items():
                names.append(pathlib.Path(at) / name)
                names[-1].write_text("\n".join([",".join(row), *rows * [",".join(str(value) for value in row.values())], ""]))
            for text in summary:
                names.append(pathlib.Path(at) / "summary")
                names[-1].write_text(text)
            return called("scripts/report/recount", *names)

    def test_a_table_that_it_is_given_is_read(self):
        self.assertEqual(self.said(), (0, "1 runs, 1 writers, 0 lines\n"))
        self.assertNotEqual(self.said("no table\n")[0], 0)

    def test_no_run_is_a_fault(self):
        self.assertEqual(self.said(rows=0), (1, "no run\n"))


class Told(unittest.TestCase):
    def told(self, stream, rc=0, *count):
        with tempfile.TemporaryDirectory() as at:
            (pathlib.Path(at) / "stream").write_text(stream)
            (pathlib.Path(at) / "console.log").write_text("")
            return ran(TOP / "scripts/guest/told", "pre", "job", at, rc, *count)

    def test_all_came_and_are_ok(self):
        told = self.told("ok a\r\nok b\r\n# c\r\n@@ verdicts 2\r\n")
        self.assertEqual((told.returncode, told.stdout), (0, "ok pre: a\nok pre: b\n# pre: c\n"))
        self.assertEqual(self.told("ok a\n", 0, 1).returncode, 0)

    def test_what_only_holds_such_words_is_no_verdict(self):
        told = self.told("it is not ok here\nok a # not ok b\nis ok c\n@@ verdicts 10\n@@ verdicts 1\n")
        self.assertEqual((told.returncode, told.stdout), (0, "ok pre: a # not ok b\n"))
        self.assertEqual(self.told("a word\n@@ verdicts 0\n").returncode, 0)
        ten = self.told("ok a\n" * 10 + "@@ verdicts 10\n")
        self.assertEqual((ten.returncode, ten.stdout), (0, "ok pre: a\n" * 10))

    def test_one_that_is_missing_or_too_many(self):
        for stream, count in [("ok a\n@@ verdicts 2\n", []), ("ok a\nok b\n@@ verdicts 1\n", []), ("ok a\n", [2]), ("ok a\n", []),
                              ("", []), ("# nothing\n", [])]:
            told = self.told(stream, 0, *count)
            self.assertEqual(told.returncode, 1, stream)
            self.assertIn("not ok job: it ended before its last verdict", told.stdout)

    def test_one_that_is_not_ok(self):
        self.assertEqual(self.told("not ok a: why\nok b\n@@ verdicts 2\n").returncode, 1)

    def test_a_guest_that_failed(self):
        for rc in (1, 2, 99):
            self.assertEqual(self.told("ok a\n@@ verdicts 1\n", rc).returncode, 1)
        self.assertIn("not ok job: timeout", self.told("ok a\n@@ verdicts 1\n", 2).stdout)


class WhyFailed(unittest.TestCase):
    CONSOLE = ("[ 1.0] handover: torture_type=x: allowed: y\r\n[ 1.5] handover: mcs: failures: owner 2\r\n[ 2.0] handover: twa: failures: owner 1\r\n"
               "[ 2.5] handover: given up: ENOMEM\r\n[ 3.0] handover: given up: ETIMEDOUT\r\n[ 4.0] WARNING: at f+0x1\r\n"
               "[ 4.5] BUG: at g+0x1\r\n[ 5.0] handover: the last word\r\n")

    def test_each_exit_has_its_reason(self):
        with tempfile.TemporaryDirectory() as at:
            (pathlib.Path(at) / "console.log").write_text(self.CONSOLE)
            for code, due in {1: "insmod failed: [ 5.0] handover: the last word", 2: "timeout", 124: "timeout", 3: "rmmod failed",
                              4: "debugfs entries are left", 5: "a lock failed its checks: [ 2.0] handover: twa: failures: owner 1",
                              6: "the experiment did not come to its end: [ 3.0] handover: given up: ETIMEDOUT",
                              98: f"the guest ended before its job did; see {at}/console.log",
                              99: "a splat: [ 4.0] WARNING: at f+0x1", 7: f"see {at}/console.log and {at}/log"}.items():
                told = ran(TOP / "scripts/guest/why-failed", code, at)
                self.assertEqual((told.returncode, told.stdout), (0, due + "\n"))


class Unpacked(unittest.TestCase):
    def unpacked(self, stream, **before):
        with tempfile.TemporaryDirectory() as at:
            for name, text in before.items():
                (pathlib.Path(at) / name).write_text(text)
            (pathlib.Path(at) / "stream").write_bytes(stream.encode())
            made = ran(TOP / "scripts/guest/unpack-stream", at)
            self.assertEqual(made.returncode, 0, made.stderr)
            return {file.name: file.read_text() for file in pathlib.Path(at).iterdir() if file.name != "stream"}

    def test_files_have_their_lines(self):
        stream = "ok a\r\n@@ file one\r\nx\r\n\r\n y z\r\n@@ end\r\nok b\r\n@@ file two\r\n1\r\n@@ end\r\n"
        self.assertEqual(self.unpacked(stream), {"one": "x\n\n y z\n", "two": "1\n"})

    def test_a_file_without_a_line_is_there(self):
        self.assertEqual(self.unpacked("@@ file one\n@@ end\n", one="of an earlier guest\n"), {"one": ""})

    def test_one_that_is_told_again_is_the_last(self):
        self.assertEqual(self.unpacked("@@ file a\n1\n@@ end\n@@ file a\n2\n@@ end\n"), {"a": "2\n"})

    def test_one_that_has_no_end(self):
        self.assertEqual(self.unpacked("@@ file a\n1\n"), {"a": "1\n"})

    def test_packed_ones(self):
        packed = base64.encodebytes(gzip.compress(b"text\n")).decode()
        self.assertEqual(self.unpacked(f"@@ file a.gz.b64\n{packed}@@ end\n"), {"a": "text\n"})


class Statistics(unittest.TestCase):
    """scripts/lib/statistics.awk."""

    def awk(self, text):
        return subprocess.run(["awk", "-f", str(TOP / "scripts/lib/statistics.awk"), "-f", "-"], input="BEGIN { print " + text + " }\n", text=True,
                              capture_output=True, check=True).stdout.rstrip("\n")

    def test_lists_of_any_length(self):
        draw = random.Random(3)
        for many in range(1, 12):
            numbers = [draw.choice((draw.randrange(-50, 10), draw.randrange(2000))) for _ in range(many)]
            text = " ".join(map(str, numbers))
            self.assertEqual(float(self.awk(f'median("{text}")')), statistics.median(numbers), text)
            self.assertEqual(self.awk(f'spread("{text}", 4, "%.2f")'), f"{min(numbers) / 4:.2f} to {max(numbers) / 4:.2f}")
        self.assertEqual(self.awk('spread("", 1, "%d") "."'), ".")


class KunitLines(unittest.TestCase):
    def lines(self, cases, log="", declared=("s=2",)):
        """The exit and what is said of a suite with these cases, of which kunit.py made a report."""
        with tempfile.TemporaryDirectory() as at:
            (pathlib.Path(at) / "log").write_text(log)
            suites = [{"name": "s", "test_cases": [{"name": name, "status": status} for name, status in cases.items()]}]
            report = json.dumps({"sub_groups": suites})
            with unittest.mock.patch("subprocess.run", side_effect=lambda *_, **__: (pathlib.Path(at) / "report.json").write_text(report)):
                code, said = called("scripts/report/kunit-lines", at, *declared)
            return code, said.splitlines()

    def test_all_passed(self):
        self.assertEqual(self.lines({"a": "PASS", "b": "PASS"}), (0, ["ok s.a", "ok s.b", "ok count: 1 suites, 2 cases"]))

    def test_whatever_did_not_pass_is_not_ok(self):
        for status in ("FAIL", "SKIP", "ERROR", "CRASHED"):
            rc, lines = self.lines({"a": "PASS", "b": status})
            self.assertEqual((rc, lines[:2]), (1, ["ok s.a", f"not ok s.b: {status}"]))
            # Also before one that passed.
            rc, lines = self.lines({"a": status, "b": "PASS"})
            self.assertEqual((rc, lines[:2]), (1, [f"not ok s.a: {status}", "ok s.b"]))

    def test_a_case_that_is_missing(self):
        rc, lines = self.lines({"a": "PASS"})
        self.assertEqual((rc, lines[-1].startswith("not ok count: ")), (1, True))

    def test_a_suite_that_is_not_declared(self):
        for declared in (("s=2", "t=1"), (), ("t=2",), ("s=3",), ("s=1",)):
            rc, lines = self.lines({"a": "PASS", "b": "PASS"}, declared=declared)
            self.assertEqual((rc, lines[-1].startswith("not ok count: ")), (1, True), declared)

    def test_no_report_is_no_pass(self):
        with tempfile.TemporaryDirectory() as at, unittest.mock.patch("subprocess.run"):
            (pathlib.Path(at) / "log").write_text("")
            self.assertEqual(called("scripts/report/kunit-lines", at, "s=1"), (1, "not ok count: kunit.py found no suites\n"))

    def test_an_earlier_report_is_none(self):
        with tempfile.TemporaryDirectory() as at, unittest.mock.patch("subprocess.run"):
            (pathlib.Path(at) / "log").write_text("")
            (pathlib.Path(at) / "report.json").write_text('{"sub_groups": [{"name": "s", "test_cases": [{"name": "a", "status": "PASS"}]}]}')
            self.assertEqual(called("scripts/report/kunit-lines", at, "s=1"), (1, "not ok count: kunit.py found no suites\n"))

    def test_an_assertion_is_of_its_suite(self):
        log = "# Subtest: t\n# b: ASSERTION FAILED at rust/t.rs:1\n Expected 3 == 4\n# Subtest: s\n# b: ASSERTION FAILED at rust/s.rs:7\n" \
              " Expected 1 == 2\n"
        self.assertEqual(self.lines({"a": "PASS", "b": "FAIL"}, log)[1][1], "not ok s.b: FAIL (rust/s.rs:7: Expected 1 == 2)")

    def test_the_first_assertion_is_told(self):
        log = "# Subtest: s\n# b: ASSERTION FAILED at x/rust/linux/k.rs:7\n Expected 1 == 2\n# b: ASSERTION FAILED at rust/k.rs:9\n"
        self.assertEqual(self.lines({"a": "PASS", "b": "FAIL"}, log)[1][1], "not ok s.b: FAIL (rust/linux/k.rs:7: Expected 1 == 2)")
