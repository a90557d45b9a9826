# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""qemu/patches, and what the module knows of them by itself."""

import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
HEADER = (TOP / "rust/linux/harness/locktorture.h").read_text()


def added(pattern):
    """The lines that a patch adds, as one text."""
    (patch,) = TOP.glob(f"qemu/patches/{pattern}")
    return "\n".join(line[1:] for line in patch.read_text().splitlines() if line.startswith("+") and not line.startswith("+++"))


class Hook(unittest.TestCase):
    def test_the_struct_is_the_patchs(self):
        def struct(text):
            (found,) = re.findall(r"^struct lock_torture_ops \{\n.*?^\};$", text, re.MULTILINE | re.DOTALL)
            return found

        self.assertEqual(struct(HEADER), struct(added("0001-*")))

    def test_the_functions_are_the_patchs(self):
        ours = re.findall(r"^(\w.*\btorture_\w+\(struct lock_torture_ops \*ops\));$", HEADER, re.MULTILINE)
        self.assertEqual(len(ours), 2)
        for declaration in ours:
            self.assertIn(f"\n{declaration};\n", added("0001-*"))
            self.assertIn(f"\n{declaration}\n", added("0001-*"))
            self.assertIn(f"EXPORT_SYMBOL_GPL({re.search(r'torture_[a-z]+_lock', declaration)[0]});", added("0001-*"))


class Steps(unittest.TestCase):
    """Outside a section is work that is drawn, as the paper has it. A mean does not tell it from the same work each time."""

    def test_those_outside_are_drawn(self):
        self.assertIn("torture_steps(&rand, torture_random(&rand) % ncs_steps);", added("0002-*"))
