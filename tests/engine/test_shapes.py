# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/report/shapes.py: what a lock's words hold when its code is run."""

import pathlib
import sys
import types
import unittest
import unittest.mock

TOP = pathlib.Path(__file__).resolve().parents[2]
ARENA = 0x1000


class Tickets(unittest.TestCase):
    def setUp(self):
        """shapes.py, without the emulator that its machine needs."""
        machine = types.SimpleNamespace(ARENA=ARENA, ME=1, NODES=5, OTHER=0)
        path = [str(TOP / "scripts/report"), *sys.path]
        with unittest.mock.patch.dict(sys.modules, {"machine": machine}), unittest.mock.patch.object(sys, "path", path):
            sys.modules.pop("shapes", None)
            import shapes
        self.shapes = shapes.SHAPES
        self.memory = {}

    def read(self, address):
        return self.memory[address]

    def test_both_words_wrap(self):
        """The grant is at the owner's ticket, which is so many below the end as pairs are made, or writers ahead."""
        for shape, bits in (("tickets", 32), ("tickets+array", 32), ("halves+array", 16)):
            end = 1 << bits
            for scenario in self.shapes[shape](self):
                words = scenario.words
                ticket, grant = (words[ARENA], words[ARENA + 4]) if bits == 32 else divmod(words[ARENA], end)
                self.assertEqual(grant, end - 2, f"{shape}: {scenario.name}")
                ahead = int(scenario.name[0]) if "ahead" in scenario.name else 0
                self.assertEqual(ticket, (end - 2 + ahead) % end, f"{shape}: {scenario.name}")

    def test_a_lock_is_over_when_the_next_ticket_is_granted(self):
        for shape, bits in (("tickets", 32), ("tickets+array", 32), ("halves+array", 16)):
            end = 1 << bits
            for scenario in self.shapes[shape](self):
                ahead = int(scenario.name[0]) if "ahead" in scenario.name else 0
                for grant in range(end - 3, end + 4):
                    grant %= end
                    self.memory = {ARENA: 7, ARENA + 4: grant} if bits == 32 else {ARENA: 7 << 16 | grant}
                    self.assertEqual(scenario.is_over(), grant == (end - 2 + ahead + 1) % end, f"{shape}: {scenario.name}, {grant}")
