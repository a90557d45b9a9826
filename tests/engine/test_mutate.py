# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""What a report of cargo-mutants means: what survives must be excluded, and an exclusion must be needed."""

import json
import pathlib
import tempfile
import unittest
import unittest.mock

import mutate

CODE = "fn less(a: u32, b: u32) -> bool {\n    a < b\n}\n"
CHANGE = "replace < with <= in less"
HEAD = '[part.p]\npackage = "p"\nfiles = ["a.rs"]\ntest = ["p"]\narguments = ["--tests"]\n'
ENTRY = f'[[excluded]]\npart = "p"\nmutant = "{CHANGE}"\ncode = "a < b"\n'
WHY = 'why = "The two are never equal here."\n'
HANG = 'hang = "It waits for a lock that is never released."\n'


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.top = pathlib.Path(self.folder.name)
        (self.top / "a.rs").write_text(CODE)

    def judge(self, summaries, excluded="", baseline="Success"):
        """(what is wrong, counts) of a report in which the change ended so, each beside 39 that were found."""
        (self.top / "parts.toml").write_text(HEAD + excluded)
        # As version 25.3.1 writes them: outcomes.json does not name a change, the lists do.
        change = {"package": "p", "file": "a.rs", "replacement": "<=", "genre": "BinaryOperator"}
        told = [{"scenario": "Baseline", "summary": baseline}]
        told += [{"scenario": {"Mutant": change}, "summary": summary} for summary in summaries]
        (self.top / "outcomes.json").write_text(json.dumps({"outcomes": told}))
        for name, summary in mutate.LISTS.items():
            lines = [f"a.rs:2:7: {CHANGE}"] * summaries.count(summary)
            if name == "caught":
                lines += ["a.rs:1:1: replace less -> bool with true"] * 39 * len(summaries)
            (self.top / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
        _, given = mutate.read(self.top / "parts.toml")
        return mutate.judge("p", mutate.found(self.top, self.top), given)

    def test_all_found(self):
        wrong, count = self.judge(["CaughtMutant", "Unviable"])
        self.assertEqual(wrong, [])
        self.assertEqual((count["viable"], count["Unviable"]), (79, 1))

    def test_a_survivor(self):
        wrong, _ = self.judge(["MissedMutant"])
        self.assertEqual(wrong, [f"a.rs: {CHANGE}: MissedMutant; the line is: a < b"])

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
            mutate.how(parts, "q", [])
        self.assertIn("a.rs", mutate.how(parts, "p", []))
        self.assertNotIn("a.rs", mutate.how(parts, "p", ["b.rs"]))


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
