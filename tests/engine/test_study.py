# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""The study's page says what its table says, computed here anew; and `make study` makes that table."""

import pathlib
import subprocess
import tempfile
import unittest

from page import TOP, Page, by, rows


class StudyScript(unittest.TestCase):
    """`make study` writes the committed table; with a seed it leaves that table alone."""

    def run_in(self, folder, *arguments):
        top = pathlib.Path(folder)
        for name, text in {
                "scripts/lib/env.sh": 'top=$PWD in_top=$PWD\nalone() { :; }\nstep() { shift 2; "$@"; }\ndie() { echo "$*"; exit 1; }\n',
                "scripts/in-toolbox": '#!/bin/bash\n[ "$1" = env ] && exit\nexec "$@"\n',
                "build/study/release/examples/study": '#!/bin/bash\necho "table $*"\n',
                "docs/results/data/study.csv": "before\n"}.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(text)
            (top / name).chmod(0o755)
        (top / "scripts/study").write_text((TOP / "scripts/study").read_text())
        said = subprocess.run(["bash", "scripts/study", *arguments], cwd=top, capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        return said.stdout.splitlines()[-1], (top / "docs/results/data/study.csv").read_text(), top

    def test_where_the_table_goes(self):
        with tempfile.TemporaryDirectory() as folder:
            said, table, _ = self.run_in(folder)
            self.assertEqual((said, table), ("docs/results/data/study.csv", "table \n"))
        with tempfile.TemporaryDirectory() as folder:
            said, table, top = self.run_in(folder, "17")
            self.assertEqual((said, table), ("build/study/17.csv", "before\n"))
            self.assertEqual((top / said).read_text(), "table 17\n")


class Study(Page):
    """Counts: each is computed again from the table, and each finding is looked for in it."""
    SLOTS, THRESHOLDS = (1, 4, 16, 64, 256, 1024, 4096), (0, 1, 2, 4)

    def setUp(self):
        self.rows = [{name: value if name == "lock" else int(value) for name, value in row.items()}
                     for row in rows("study.csv")]
        self.words_of_page = self.words("study.md")

    def per(self, what, of, **point):
        """The sum of the columns `what`, to the sum of the column `of`, over the seeds of a point."""
        mine = [row for row in self.rows if all(row[name] == value for name, value in point.items())]
        self.assertEqual(len(mine), 3, point)
        return sum(row[name] for row in mine for name in what) / sum(row[of] for row in mine)

    def cells(self, line, first):
        return line.group(first).strip(" |").split(" | ")

    COLLISIONS = ("same_lock", "other_lock")

    def test_parameters(self):
        for name, column in (("long-term threshold T", "threshold"), ("slots of the array", "slots"),
                             ("threads", "contenders"), ("locks that share the array", "locks"), ("seeds", "seed"),
                             ("acquisitions a run, by all threads together", "acquisitions")):
            due = ", ".join(str(value) for value in sorted({row[column] for row in self.rows}))
            self.assertIn(f"| {name} | {due} |", self.words_of_page)
        self.assertEqual(len(self.rows), 2 * 4 * 7 * 5 * 3 * 3)

    def test_collisions(self):
        lines = self.lines("study.md", r"\| `(\w+)` \| (\d) ((?:\| [0-9.]+ ){7}\|)")
        self.assertEqual([line.groups()[:2] for line in lines],
                         [(lock, locks) for lock in ("twa", "one_word_twa") for locks in "128"])
        for line in lines:
            for slots, said in zip(self.SLOTS, self.cells(line, 3), strict=True):
                due = self.per(self.COLLISIONS, "long_term", lock=line[1], locks=int(line[2]), slots=slots, threshold=1,
                               contenders=32)
                self.same(said, 100 * due, f"{line[1]}, {line[2]} locks, {slots} slots")

    def test_most_collisions(self):
        found = self.tables(r"\| (\d) ((?:\| [0-9]+\.[0-9] ){7}\|)")
        self.assertEqual([int(line[1]) for line in found], [1, 2, 8])
        for line in found:
            for slots, said in zip(self.SLOTS, self.cells(line, 2), strict=True):
                due = max(100 * self.collisions(row) / row["long_term"] for row in self.rows if row["long_term"] >= 100
                          and (row["locks"], row["slots"]) == (int(line[1]), slots))
                self.same(said, due, f"the most, {line[1]} locks, {slots} slots")

    def test_long_term_waits(self):
        lines = self.tables(r"\| (\d) \| (\d+) ((?:\| [0-9.]+ ){8}\|)")
        self.assertEqual([(int(line[1]), int(line[2])) for line in lines],
                         [(locks, threads) for locks in (1, 2, 8) for threads in (2, 4, 8, 16, 32)])
        for line in lines:
            points = [(lock, threshold) for lock in ("twa", "one_word_twa") for threshold in self.THRESHOLDS]
            for (lock, threshold), said in zip(points, self.cells(line, 3), strict=True):
                due = self.per(["long_term"], "acquisitions", lock=lock, threshold=threshold, locks=int(line[1]),
                               contenders=int(line[2]), slots=4096)
                self.same(said, 100 * due, f"{line[0]}, {lock}, T = {threshold}")

    def test_looks(self):
        lines = self.tables(r"\| (\d) ((?:\| [0-9]+\.[0-9]{2} ){7}\|)")
        self.assertEqual([int(line[1]) for line in lines], list(self.THRESHOLDS))
        for line in lines:
            for slots, said in zip(self.SLOTS, self.cells(line, 2), strict=True):
                due = self.per(["looks"], "long_term", lock="twa", threshold=int(line[1]), locks=1, contenders=32, slots=slots)
                self.same(said, due, f"looks, T = {line[1]}, {slots} slots")

    def tables(self, pattern):
        return self.lines("study.md", pattern)

    def collisions(self, row):
        return sum(row[name] for name in self.COLLISIONS)

    def test_the_findings(self):
        def says(words):
            self.assertIn(words, self.words_of_page)

        says("One lock has no collision in any run with at least as many slots as threads.")
        for row in self.rows:
            if row["locks"] == 1 and row["slots"] >= row["contenders"]:
                self.assertEqual(self.collisions(row), 0, row)
        says("At 4096 slots fewer than 1 of 100 long-term waits has one, in each run.")
        whole = [row for row in self.rows if row["slots"] == 4096]
        self.assertTrue(all(100 * self.collisions(row) < row["long_term"] for row in whole if row["long_term"]))
        says("Several locks collide in arrays of any size.")
        for slots in self.SLOTS:
            self.assertTrue(any(self.collisions(row) for row in self.rows if row["locks"] > 1 and row["slots"] == slots))
        says("One lock has nearly one collision per long-term wait with 16 slots and 32 threads.")
        for row in self.rows:
            if (row["locks"], row["slots"], row["contenders"]) == (1, 16, 32):
                self.assertEqual(round(self.collisions(row) / row["long_term"], 1), 1.0, row)
        says("In one word a release notifies once for each long-term wait")
        says("`Twa` notifies at each release.")
        for row in self.rows:
            due = row["long_term"] if row["lock"] == "one_word_twa" else row["acquisitions"]
            self.assertEqual(row["notified"], due, row)
        says("No thread waits long term where there are at most T + 1 threads.")
        self.assertFalse(any(row["long_term"] for row in self.rows if row["contenders"] <= row["threshold"] + 1))
        share = [100 * row["long_term"] / row["acquisitions"] for row in self.rows
                 if (row["locks"], row["contenders"]) == (1, 32)]
        says(f"With 32 threads at one lock {min(share):.1f} to {max(share):.1f} of 100 acquisitions wait long term, at every T.")
        says("With 4 threads and 8 locks the share falls from T = 0 to T = 1 to less than a tenth.")
        for lock in ("twa", "one_word_twa"):
            none, one = (self.per(["long_term"], "acquisitions", lock=lock, threshold=threshold, locks=8, contenders=4,
                                  slots=4096) for threshold in (0, 1))
            self.assertLess(one, none / 10)
        says("A long-term wait takes one look when it begins, and one for each wake-up.")
        for row in self.rows:
            self.assertEqual(row["looks"], row["long_term"] + row["own"] + self.collisions(row), row)
            if not self.collisions(row):
                self.assertLessEqual(row["looks"], 2 * row["long_term"], row)
