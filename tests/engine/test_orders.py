# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""The orders of the harness's words. x86 cannot show one that is missing: its loads and stores have them anyway."""

import collections
import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
CALL = re.compile(r"(\w+|\})\s*\.(load|store|cmpxchg|xchg|fetch_\w+)_(acquire|release|relaxed)\(")
NAMED = re.compile(r"\.(load|store|cmpxchg|xchg|fetch_\w+|add)\([^;{}]*?\b(Acquire|Release|Relaxed|Full)\b")

# Words by which threads hand something over: whoever loads one by acquire sees what was written before its store.
HANDED = {"stop", "done", "step", "over", "phase"}
# Relaxed accesses: a word of HANDED where nothing is read by it, and words that hand nothing over. The rest has an order.
RELAXED = {
    # Whoever looks reads the writers' counts, which are volatile, and nothing else.
    ("stall.rs", "done"): 1,
    # A section, a timer or a job asks whether it goes on. `writer` acquires each phase from which a run's data is read.
    ("interrupts.rs", "phase"): 1,
    ("perturb.rs", "phase"): 1,
    ("perturbed.rs", "phase"): 2,
    ("writer.rs", "phase"): 1,
    # A wish of a job, by which nothing is read.
    ("arena.rs", "pause"): 1,
    ("perturb.rs", "pause"): 2,
    ("perturb.rs", "spared"): 4,
    # What the slow path is told that was seen. It looks again.
    ("kernels.rs", "word"): 1,
}
# qspinlock's fast path, as include/asm-generic/qspinlock.h has it: both attempts acquire, and the unlock releases.
LOCK = {"cmpxchg_acquire": 2, "store Release": 1}


def code(path):
    """Without what is said of it."""
    return re.sub(r"//.*", "", path.read_text())


class Orders(unittest.TestCase):
    def setUp(self):
        self.files = {path.name: code(path) for path in sorted((TOP / "rust/linux/harness").glob("*.rs"))}
        self.assertGreater(len(self.files), 20)
        self.calls = [(name, *call) for name, text in self.files.items() for call in CALL.findall(text)]

    def test_what_is_handed_over_is_ordered(self):
        """Loads acquire, stores release. What is relaxed is declared with its reason."""
        relaxed = collections.Counter((name, word) for name, word, _, order in self.calls if order == "relaxed")
        self.assertEqual(dict(relaxed), RELAXED)
        for name, word, access, order in self.calls:
            if order != "relaxed" and name != "kernels.rs":
                self.assertIn(word, HANDED, name)
                self.assertEqual(order, {"load": "acquire", "store": "release"}[access], f"{name}: {word}")
        # Each has both ends.
        ends = {(word, order) for _, word, _, order in self.calls}
        for word in HANDED:
            self.assertTrue({(word, "acquire"), (word, "release")} <= ends, word)

    def test_the_kernels_fast_path(self):
        text = self.files["kernels.rs"]
        calls = collections.Counter(f"{access}_{order}" for name, _, access, order in self.calls if name == "kernels.rs" and order != "relaxed")
        calls.update(f"{access} {order}" for access, order in NAMED.findall(text))
        self.assertEqual(dict(calls), LOCK)

    def test_no_order_is_named_elsewhere(self):
        for name, text in self.files.items():
            if name != "kernels.rs":
                self.assertEqual(NAMED.findall(text), [], name)
