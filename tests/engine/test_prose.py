# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""Which doc comments scripts/report/prose refuses; tests/prose has a case of each other fault."""

import contextlib
import io
import pathlib
import runpy
import sys
import tempfile
import unittest
import unittest.mock

PROSE = pathlib.Path(__file__).resolve().parents[2] / "scripts/report/prose"


class Comments(unittest.TestCase):
    def found(self, comment):
        """What is said of a file with this doc comment, and a document without a fault beside it."""
        with tempfile.TemporaryDirectory() as folder:
            lines = "".join(f"/// {line}".rstrip() + "\n" for line in comment.split("\n"))
            pathlib.Path(folder, "a.rs").write_text(f"{lines}struct It;\n")
            pathlib.Path(folder, "a.md").write_text("A document.\n")
            said, given, patch = io.StringIO(), io.StringIO("a.md\na.rs\n"), unittest.mock.patch.object
            # The toolbox's interpreter starts by its own loader, so no other process begins here.
            with contextlib.chdir(folder), contextlib.redirect_stdout(said), patch(sys, "stdin", given), \
                    patch(sys, "argv", [str(PROSE)]), patch(sys, "path", [str(PROSE.parent), *sys.path]), \
                    contextlib.suppress(SystemExit):
                runpy.run_path(str(PROSE), run_name="__main__")
            return said.getvalue().splitlines()

    def test_a_comment_without_a_subject(self):
        for word in ("Of", "That", "Whose", "Those"):
            why = f"a comment that begins with '{word}', which is no subject"
            self.assertEqual(self.found(f"{word} a node."), [f"a.rs:1: {why}"])
            self.assertEqual(self.found(f"A word.\n\n{word} a node."), [f"a.rs:3: {why}"])

    def test_a_comment_with_a_subject(self):
        for comment in ("Offers of nodes.", "A word. That is a node's.", "The words and\nThose of a node."):
            self.assertEqual(self.found(comment), ["1 documents: no fault"])
