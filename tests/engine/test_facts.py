# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""The options that spoil figures, as the module's facts ask for them and docs/kernel.md has them: no kernel here has each."""

import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]


class Spoils(unittest.TestCase):
    def test_each_is_asked_for_by_its_name(self):
        text = (TOP / "rust/linux/harness/facts.rs").read_text()
        (table,) = re.findall(r"^const SPOILS: .*?= &\[$(.*?)^\];$", text, re.MULTILINE | re.DOTALL)
        pairs = re.findall(r'\(\s*cfg!\(CONFIG_(\w+)\),\s*"(\w+)",?\s*\)', table)
        (said,) = re.findall(r"^Options that spoil figures .*?\.\n\n", (TOP / "docs/kernel.md").read_text() + "\n", re.MULTILINE | re.DOTALL)
        due = re.findall(r"`(\w+)`", said)
        self.assertGreater(len(due), 10)
        self.assertEqual(pairs, [(name, name) for name in due])
        self.assertEqual(table.count("cfg!"), len(due))
