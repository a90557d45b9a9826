# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""What a report of cargo-mutants means: what survives must be excluded, and an exclusion must be needed."""

import json
import pathlib
import subprocess
import tempfile
import unittest
import unittest.mock

import mutate

CODE = "fn less(a: u32, b: u32) -> bool {\n    a < b\n}\n"
CHANGE = "replace < with <= in less"
HEAD = '[part.p]\npackage = "p"\nfiles = ["a.rs"]\ntest = ["p"]\n'
RUNS = '[[part.p.runs]]\narguments = ["--lib"]\nlimit_s = 5\nquick = true\n[[part.p.runs]]\narguments = ["--tests"]\nlimit_s = 240\n'
HEAD += RUNS
ENTRY = f'[[excluded]]\npart = "p"\nmutant = "{CHANGE}"\ncode = "a < b"\n'
WHY = 'why = "The two are never equal here."\n'
HANG = 'hang = "It waits for a lock that is never released."\n'


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.top = pathlib.Path(self.folder.name)
        (self.top / "a.rs").write_text(CODE)

    def report(self, summaries, name, found=39, baseline="Success"):
        """A report in which the change ended so, each beside some that were found."""
        folder = self.top / name
        folder.mkdir()
        # As version 25.3.1 writes them: outcomes.json does not name a change, the lists do.
        change = {"package": "p", "file": "a.rs", "replacement": "<=", "genre": "BinaryOperator"}
        told = [{"scenario": "Baseline", "summary": baseline}]
        told += [{"scenario": {"Mutant": change}, "summary": summary} for summary in summaries]
        (folder / "outcomes.json").write_text(json.dumps({"outcomes": told}))
        for name, summary in mutate.LISTS.items():
            lines = [f"a.rs:2:{number}: {CHANGE}" for number, one in enumerate(summaries) if one == summary]
            if name == "caught":
                lines += [f"a.rs:1:{number}: replace less -> bool with true" for number in range(found * len(summaries))]
            (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
        return folder

    def judge(self, summaries, excluded="", baseline="Success", later=None):
        """(what is wrong, counts) of that report, and of a later run's in which the change ended so."""
        (self.top / "parts.toml").write_text(HEAD + excluded)
        _, given = mutate.read(self.top / "parts.toml")
        reports = [self.report(summaries, f"run-{len(list(self.top.glob('run-*')))}", baseline=baseline)]
        if later is not None:
            reports.append(self.report(later, f"later-{len(list(self.top.glob('later-*')))}", found=0))
        return mutate.judge("p", mutate.found(reports, self.top), given)

    def test_all_found(self):
        wrong, count = self.judge(["CaughtMutant", "Unviable"])
        self.assertEqual(wrong, [])
        self.assertEqual((count["viable"], count["Unviable"]), (79, 1))

    def test_a_survivor(self):
        wrong, _ = self.judge(["MissedMutant"])
        self.assertEqual(wrong, [f"a.rs: {CHANGE}: MissedMutant; the line is: a < b"])

    def test_a_later_run_finds_it(self):
        for first in ("MissedMutant", "Timeout"):
            wrong, count = self.judge([first], later=["CaughtMutant"])
            self.assertEqual((wrong, count["viable"]), ([], 40))

    def test_a_later_run_that_misses_it(self):
        self.assertEqual(len(self.judge(["MissedMutant"], later=["MissedMutant"])[0]), 1)

    def test_a_change_that_hangs_in_one_run(self):
        for first, later in (("Timeout", "MissedMutant"), ("MissedMutant", "Timeout")):
            wrong, count = self.judge([first], ENTRY + HANG, later=[later])
            self.assertEqual((wrong, count["hang"]), ([], 1))

    def test_a_later_run_with_nothing_left(self):
        (self.top / "empty").mkdir()
        reports = [self.report(["CaughtMutant"], "all"), self.top / "empty"]
        self.assertEqual(len(mutate.found(reports, self.top)), 2)

    def test_a_later_run_whose_tests_fail_without_a_change(self):
        reports = [self.report(["MissedMutant"], "one"), self.report(["CaughtMutant"], "two", baseline="Failure")]
        with self.assertRaises(mutate.Refused):
            mutate.found(reports, self.top)

    def test_a_survivor_that_is_excluded(self):
        wrong, count = self.judge(["MissedMutant"], ENTRY + WHY)
        self.assertEqual((wrong, count["equivalent"]), ([], 1))

    def test_a_timeout(self):
        self.assertEqual(len(self.judge(["Timeout"])[0]), 1)

    def test_a_timeout_is_no_equivalent(self):
        self.assertEqual(len(self.judge(["Timeout"], ENTRY + WHY)[0]), 2)

    def test_a_hang(self):
        wrong, count = self.judge(["Timeout"], ENTRY + HANG)
        self.assertEqual((wrong, count["hang"], count.get("equivalent", 0)), ([], 1, 0))

    def test_a_hang_that_survives(self):
        self.assertEqual(len(self.judge(["MissedMutant"], ENTRY + HANG)[0]), 2)

    def test_an_exclusion_of_what_is_found(self):
        wrong, _ = self.judge(["CaughtMutant"], ENTRY + WHY)
        self.assertEqual(wrong, [f"excluded, but found or not there: {CHANGE}; the line is: a < b"])

    def test_an_exclusion_of_another_line(self):
        self.assertEqual(len(self.judge(["MissedMutant"], (ENTRY + WHY).replace("a < b", "b < a"))[0]), 2)

    def test_more_than_five_percent(self):
        # Of 40 each: 1 is 2.5 %, and 3 of 42 are 7 %.
        change = ["MissedMutant"] * 3
        with unittest.mock.patch.object(mutate, "MOST_PERCENT", 2):
            self.assertEqual(len(self.judge(change, ENTRY + WHY)[0]), 1)
        self.assertEqual(self.judge(change, ENTRY + WHY)[0], [])

    def test_nothing_was_tried(self):
        self.assertEqual(self.judge([])[0], ["no change was tried"])

    def test_tests_that_fail_without_a_change(self):
        with self.assertRaises(mutate.Refused):
            self.judge(["CaughtMutant"], baseline="Failure")

    def test_entries_that_are_refused(self):
        for entry in (ENTRY, ENTRY + WHY + HANG, ENTRY + WHY + "reason = 1\n", (ENTRY + WHY).replace('"p"', '"q"'),
                      ENTRY + 'why = "It is equal."\n'):
            (self.top / "parts.toml").write_text(HEAD + entry)
            with self.assertRaises(mutate.Refused):
                mutate.read(self.top / "parts.toml")

    def test_a_part_that_is_not_there(self):
        (self.top / "parts.toml").write_text(HEAD)
        parts, _ = mutate.read(self.top / "parts.toml")
        with self.assertRaises(mutate.Refused):
            mutate.how(parts, "q", 0, [])
        self.assertIn("a.rs", mutate.how(parts, "p", 0, []))
        self.assertNotIn("a.rs", mutate.how(parts, "p", 0, ["b.rs"]))

    def test_the_options_of_each_run(self):
        (self.top / "parts.toml").write_text(HEAD)
        parts, _ = mutate.read(self.top / "parts.toml")
        first, second = (mutate.how(parts, "p", run, []) for run in (0, 1))
        # The later one alone passes over what is found; the first alone goes without optimisation.
        self.assertEqual(("--iterate" in first, "--iterate" in second), (False, True))
        self.assertEqual([sum("opt-level" in option for option in run) for run in (first, second)], [2, 0])
        for run, limit, tests in ((first, "5", "--lib"), (second, "240", "--tests")):
            self.assertEqual(run[run.index("--minimum-test-timeout") + 1], limit)
            self.assertEqual(run[run.index("--") + 1:], [tests])

    def test_runs_that_are_refused(self):
        for runs in ("", "runs = []\n", RUNS.replace("limit_s = 5\n", ""), RUNS.replace("quick", "quik")):
            (self.top / "parts.toml").write_text(HEAD.replace(RUNS, runs))
            with self.assertRaises(mutate.Refused):
                mutate.read(self.top / "parts.toml")


class FirstFailure(unittest.TestCase):
    """What runs a test program ends it at its first failure, and is its exit otherwise."""

    def run_it(self, program):
        runner = pathlib.Path(mutate.__file__).with_name("first-failure")
        return subprocess.run([runner, "sh", "-c", program], capture_output=True, text=True, timeout=20, check=False)

    def test_a_program_that_hangs_after_a_failure(self):
        ended = self.run_it("echo 'test a ... ok'; echo 'test b ... FAILED'; sleep 60")
        self.assertEqual((ended.returncode, ended.stdout), (101, "test a ... ok\ntest b ... FAILED\n"))

    def test_the_exit_of_a_program(self):
        for code in (0, 101, 134):
            self.assertEqual(self.run_it(f"echo 'test a ... ok'; exit {code}").returncode, code)


class TheTree(unittest.TestCase):
    def test_its_file_of_parts(self):
        """Every part's files and exclusions are there."""
        top = pathlib.Path(__file__).resolve().parents[2]
        if not (top / "rust").exists():
            self.skipTest("a copy of the engine alone")
        parts, excluded = mutate.read(top / "tests/mutate.toml")
        self.assertEqual(set(parts), {"measure", "locks", "alock", "rlock"})
        for name, part in parts.items():
            lines = set()
            for pattern in part["files"]:
                files = list(top.glob(pattern))
                self.assertTrue(files, pattern)
                lines |= {line.strip() for file in files for line in file.read_text().splitlines()}
            for one in excluded:
                if one["part"] == name:
                    self.assertIn(one["code"], lines)
