# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""The pages of docs/results, and the tables beside them."""

import csv
import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
RESULTS = TOP / "docs/results"


def rows(name):
    with open(RESULTS / "data" / name, newline="") as file:
        return list(csv.DictReader(file))


def by(rows, key, value):
    """{key: [values in the order of the rows]}"""
    found = {}
    for row in rows:
        found.setdefault(key(row), []).append(value(row))
    return found


class Page(unittest.TestCase):
    """A page of which each row of numbers is compared."""

    def lines(self, page, pattern):
        """The matches of the pattern with a whole line of the page."""
        text = (RESULTS / page).read_text().splitlines()
        return [found for found in (re.fullmatch(pattern, line) for line in text) if found]

    def words(self, page):
        """The page with its lines joined."""
        return " ".join((RESULTS / page).read_text().split())

    def same(self, said, due, what):
        """The printed number is the due one, rounded to as many decimals."""
        decimals = len(said.partition(".")[2])
        self.assertLessEqual(abs(float(said) - due), 0.5001 * 10 ** -decimals, f"{what}: {said}, and not {due:.4f}")
