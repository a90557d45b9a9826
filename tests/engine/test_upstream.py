# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/lib/upstream.py: steps that change a text, and what a file is before a patch."""

import pathlib
import re
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "scripts/lib"))

import upstream  # noqa: E402


class Steps(unittest.TestCase):
    def test_what_is_not_there_fails(self):
        for text in ["", "a a"]:
            with self.assertRaises(SystemExit):
                upstream.put(text, ("a", "b"))
        with self.assertRaises(SystemExit):
            upstream.each("", ("a", "b"))
        with self.assertRaises(SystemExit):
            upstream.without_fn("fn other() {}\n", "one")
        with self.assertRaises(SystemExit):
            upstream.without_examples("/// A text.\nstruct A;\n")

    def test_a_function_goes_with_its_comment(self):
        text = "trait A {\n    /// One.\n    fn one(&self);\n\n    /// Two.\n    ///\n    /// More.\n    #[inline]\n    fn two(&self) {\n        {\n        }\n    }\n\n    fn three();\n}\n"
        self.assertEqual(upstream.without_fn(text, "two"), "trait A {\n    /// One.\n    fn one(&self);\n\n    fn three();\n}\n")
        self.assertEqual(upstream.without_fn(text, "one").count("One"), 0)

    def test_examples_go(self):
        text = "/// A lock.\n///\n/// # Examples\n///\n/// ```\n/// x\n/// ```\nstruct A;\n"
        self.assertEqual(upstream.without_examples(text), "/// A lock.\nstruct A;\n")


class Wrapped(unittest.TestCase):
    def test_a_long_line_has_its_paragraph_filled_again(self):
        words = "word " * 30
        text = f"    /// {words.strip()}\n    /// end.\n    ///\n    /// Next.\n"
        lines = upstream.wrapped(text).split("\n")
        self.assertTrue(all(len(line) <= 100 for line in lines))
        self.assertEqual(" ".join(line[8:] for line in lines).split(), [*words.split(), "end.", "Next."])
        self.assertIn("    ///", lines)

    def test_tables_programs_and_remarks_are_apart(self):
        long = "y " * 60
        text = f"//! | {long} |\n//! ```\n//! {long}\n//! ```\n// {long}\n// SAFETY: None.\n"
        lines = upstream.wrapped(text).split("\n")
        self.assertIn(f"//! | {long} |", lines)
        self.assertIn(f"//! {long}", lines)
        self.assertIn("// SAFETY: None.", lines)

    def test_short_lines_stay(self):
        text = "/// Short.\n/// And short.\nfn a() {}\n"
        self.assertEqual(upstream.wrapped(text), text)


class Until(unittest.TestCase):
    LATER = re.compile("new")

    def until(self, text, before=""):
        return upstream.until(text, self.LATER, before)

    def test_nothing_later_nothing_changed(self):
        text = "//! A.\n\nmod a;\n\nfn a() {\n}\n"
        self.assertEqual(self.until(text), text)

    def test_lines_of_lists_go_and_the_others_stay(self):
        text = "//! | a |\n//! | new |\n\nmod a;\nmod new;\n\npub use b::{\n    a,\n    new, //\n};\n"
        self.assertEqual(self.until(text), "//! | a |\n\nmod a;\n\npub use b::{\n    a, //\n};\n")

    def test_a_numbered_item_goes_with_its_lines(self):
        self.assertEqual(self.until("//! 1. a\n//!    b.\n//! 2. new\n//!    c.\n//! 3. d.\n"), "//! 1. a\n//!    b.\n//! 3. d.\n")

    def test_a_comment_is_not_torn(self):
        self.assertEqual(self.until("/// A.\n/// A new one.\n/// B.\nmod a;\n"), "/// A.\n/// B.\nmod a;\n")
        for text in ["/// A is\n/// a new one.\nmod a;\n", "/// A new\n/// one.\nmod a;\n"]:
            with self.assertRaises(SystemExit):
                self.until(text)

    def test_paragraphs_go_and_braces_are_closed(self):
        text = "mod t {\n    fn a() {}\n\n    fn new() {\n    }\n}\n"
        self.assertEqual(self.until(text), "mod t {\n    fn a() {}\n}\n")

    def test_a_module_goes_whole(self):
        text = "mod a {\n}\n\nmod new {\n    x\n\n    fn new() {\n    }\n}\n\nmod b {\n}\n"
        self.assertEqual(self.until(text), "mod a {\n}\n\nmod b {\n}\n")

    def test_what_the_kernel_had_stays(self):
        self.assertEqual(self.until("mod a;\nmod new;\n", "x\nmod new;\ny"), "mod a;\nmod new;\n")


class Ordering(unittest.TestCase):
    TABLE = (TOP / "rust/locks/mod.rs").read_text()

    def test_each_row_is_there_once_in_lines_that_fit(self):
        text = upstream.ordering(self.TABLE, 9)
        self.assertEqual(re.findall(r"(?m)^//! (\d+)\.", text), [str(row) for row in range(1, 10)])
        self.assertTrue(all(len(line) <= 100 for line in text.split("\n")))
        self.assertNotIn("the same", text)

    def test_the_series_has_each_pair_of_its_locks(self):
        """Rows of the locks that stay behind have their name in the row, or are the same as the row above."""
        due, stays = [], False
        for number, first in re.findall(r"(?m)^//! \| (\d+) \| (.*?) \| .*? \| .*? \| .*? \|$", self.TABLE):
            stays = stays if first == "the same" else bool(re.match("`(Mcs|Clh|Qspin|Ttas|Pool)::|`unlock` of rows", first))
            due += [] if stays else [number]
        self.assertEqual(re.findall(r"(?m)^//! (\d+)\. Release: ", upstream.algorithms(TOP)["algorithm.rs"]), due)

    def test_a_missing_row_fails(self):
        with self.assertRaises(SystemExit):
            upstream.ordering(re.sub(r"(?m)^//! \| 4 \|.*\n", "", self.TABLE), 9)


class Helpers(unittest.TestCase):
    """The functions in C. Each is what its name says, or what the module's own one says of the same thing."""

    OF_THE_MODULE = {"trace_contention_": "handover_contention_", "spin_map_": "handover_lockdep_"}

    def bodies(self, folder, prefix):
        """{name: (parameters, statement)} of the functions of one statement, comments apart; and how many functions there are."""
        text = "\n".join(path.read_text() for path in sorted((TOP / folder).glob("*.c")))
        text = re.sub(r"(?s)/\*.*?\*/", "", text)
        found = re.findall(prefix + r"(\w+)\(([^)]*)\)\s*\{\s*([^;{}]*);\s*\}", text)
        return len(re.findall(prefix + r"\w+\([^;{]*\{", text)), {name: ([word.split()[-1].lstrip("*") for word in parameters.split(",") if word.strip() != "void"],
                       " ".join(statement.split())) for name, parameters, statement in found}

    def test_each_is_what_its_name_says(self):
        total, ours = self.bodies("rust/upstream", "rust_helper_")
        self.assertEqual(len(ours), total, "one statement each")
        _, module = self.bodies("rust/linux/spin", "handover_")
        module = {f"handover_{name}": body for name, body in module.items()}
        for name, (parameters, statement) in ours.items():
            there = [module[theirs + name[len(here):]] for here, theirs in self.OF_THE_MODULE.items() if name.startswith(here)]
            if there:
                due = there[0][1].replace("(void *)", "")
            elif name.endswith("_ne"):
                due = f"{name[:-3]}({parameters[0]}, VAL != {parameters[1]})"
            else:
                due = f"{name}({', '.join(parameters)})"
            self.assertEqual(statement.removeprefix("return "), due, name)
