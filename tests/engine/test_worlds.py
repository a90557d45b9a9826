# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/report/worlds: what each lock passed in each world, out of the suites' lines."""

import contextlib
import csv
import io
import pathlib
import re
import runpy
import sys
import tempfile
import unittest
import unittest.mock

TOP = pathlib.Path(__file__).resolve().parents[2]

# One check in every world of a lock with tickets.
LINES = """\
ok states::LOCK::free_and_owned
ok threads::LOCK::admit_in_order
ok spin::LOCK::two_threads
ok block::LOCK::two_threads
# search loom::block::LOCK::two_threads: 12 executions, 0.0 s, complete
ok litmus c11/WORD-fast (forbidden, 2 states)
ok litmus c11/WORD-fast-without-release, a control (allowed)
ok litmus lkmm/WORD-fast (forbidden, 2 states)
ok spin LOCK-far (1200 states, depth 12, 0.1 s)
ok proof LOCK_proof (8.0 s)
ok kunit test: handover_LOCK.exclusion
ok kunit lockdep: handover_LOCK.exclusion
ok stock: torture LOCK
ok disasm stock LOCK
ok another check
"""


def lines(lock, word):
    return LINES.replace("LOCK", lock).replace("WORD", word)


class Worlds(unittest.TestCase):
    def told(self, said, *listed):
        """The rows, or why there are none."""
        with tempfile.TemporaryDirectory() as folder:
            at = pathlib.Path(folder, "list.rs")
            at.write_text("".join(f'            {name}: L<Word> = {kind}, "a lock";\n' for name, kind in listed))
            command, printed = [str(TOP / "scripts/report/worlds"), str(at)], io.StringIO()
            with unittest.mock.patch.object(sys, "argv", command), contextlib.redirect_stdout(printed), \
                    unittest.mock.patch.object(sys, "stdin", io.StringIO(said)):
                try:
                    runpy.run_path(command[0], run_name="__main__")
                except SystemExit as why:
                    return str(why)
        return {(row["lock"], row["world"]): (row["passed"], row["cut_off"], row["bound"])
                for row in csv.DictReader(io.StringIO(printed.getvalue()))}

    def test_a_row_for_each_world(self):
        rows = self.told(lines("ticket", "grant"), ("ticket", "usual"), ("busted", "control"))
        self.assertEqual({lock for lock, _ in rows}, {"ticket"})
        self.assertEqual(len(rows), 12)
        self.assertEqual(rows.pop(("ticket", "litmus, C11")), ("2", "0", "-"))
        self.assertEqual(set(rows.values()), {("1", "0", "-")})

    def test_a_missing_check(self):
        for line in LINES.splitlines():
            if line.startswith("#") or line == "ok another check" or "without" in line:
                continue
            said = lines("twa", "slot").replace(line.replace("LOCK", "twa").replace("WORD", "slot") + "\n", "")
            said = re.sub(r"^ok litmus c11/.*without.*\n", "", said, flags=re.MULTILINE)
            self.assertRegex(str(self.told(said, ("twa", "more"))), "^worlds: twa, .*: no check$", line)

    def test_a_check_that_failed(self):
        said = lines("ticket", "grant").replace("ok stock: torture ticket", "not ok stock: torture ticket: owner 1")
        self.assertRegex(str(self.told(said, ("ticket", "usual"))), "^worlds: ticket, torture, stock kernel: not ok: stock: torture ticket$")

    def test_a_search_with_a_bound(self):
        said = lines("ticket", "grant") + "ok three::ticket\n" \
            "# search loom::three::ticket: 12 executions, 0.0 s, of at most 5 preemptions\n"
        self.assertEqual(self.told(said, ("ticket", "usual"))["ticket", "loom, blocking"], ("2", "1", "5 preemptions"))

    def test_searches_with_several_bounds(self):
        said = lines("ticket", "grant")
        for name, bound in (("a", 5), ("b", 5), ("c", 2)):
            said += f"ok three::ticket_{name}\n# search loom::three::ticket_{name}: 12 executions, 0.0 s, of at most {bound} preemptions\n"
        self.assertEqual(self.told(said, ("ticket", "usual"))["ticket", "loom, blocking"], ("4", "3", "2 preemptions; 5 preemptions"))

    def test_a_lock_of_models(self):
        rows = self.told(lines("qspin", "qspin"), ("qspin", "model"))
        self.assertEqual({world for _, world in rows}, {"scripted", "threads of a process", "loom, spinning", "loom, blocking",
                                                        "litmus, C11", "litmus, the kernel's model"})

    def test_a_name_that_begins_alike(self):
        said = lines("ticket", "grant") + "ok stock: torture ticketed\nok spin::ticket::other (12 executions)\n"
        rows = self.told(said, ("ticket", "usual"))
        self.assertEqual(rows["ticket", "torture, stock kernel"], ("1", "0", "-"))
        self.assertEqual(rows["ticket", "loom, spinning"], ("2", "0", "-"))

    def test_names_of_other_locks(self):
        said = lines("ticket", "grant") + lines("one_word_twa", "word").replace("spin one_word_twa", "spin one-word")
        self.assertEqual(self.told(said, ("ticket", "usual"), ("one_word_twa", "more"))["one_word_twa", "loom, spinning"],
                         ("1", "0", "-"))
        self.assertRegex(str(self.told(said, ("twa", "usual"))), "^worlds: twa, ")

    def test_the_kept_table(self):
        """Every lock of the list passed each of its worlds, and a bound is told where a search was cut off."""
        listed = re.findall(r'^ +(\w+): .* = (usual|more|model), ".*";$', (TOP / "rust/locks/list.rs").read_text(),
                            re.MULTILINE)
        with open(TOP / "docs/results/data/worlds.csv", newline="") as file:
            kept = list(csv.DictReader(file))
        self.assertEqual(list(dict.fromkeys(row["lock"] for row in kept)), [name for name, _ in listed])
        due = {"usual": 10, "more": 10, "model": 6}
        tickets = ("ticket", "twa", "one_word_twa")
        for name, kind in listed:
            mine = [row for row in kept if row["lock"] == name]
            self.assertEqual(len({row["world"] for row in mine}), due[kind] + 2 * (name in tickets), name)
        for row in kept:
            self.assertGreater(int(row["passed"]), int(row["cut_off"]), row)
            self.assertEqual(row["cut_off"] == "0", row["bound"] == "-", row)
