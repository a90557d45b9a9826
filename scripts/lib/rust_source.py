# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""A Rust file's text as scripts/report/circles reads it."""

import re

BLANK = re.compile(r'//[^\n]*|/\*.*?\*/|b?"(?:\\.|[^"\\])*"|b?r#*".*?"#*|b?\'(?:\\.|[^\'\\])\'', re.S)
TESTS = re.compile(r'#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:pub\s+)?mod\s+\w+\s*(;|\{)')


def source(path):
    """The file's text without comments, literals and test modules."""
    text = BLANK.sub(" ", path.read_text())
    while found := TESTS.search(text):
        end, depth = found.end(), found.group(1) == "{"
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: found.start()] + text[end:]
    return inline(text)


def inline(text):
    """In a module that is written in its parent's file, `super` is that file."""
    for found in re.finditer(r'\bmod\s+(?:\$?\w+|\[<[^>]*>\])\s*\{', text):
        end, depth = found.end(), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        inner = re.sub(r'(?<!::)(?<!:: )\bsuper(?=\s*::)', "self ", text[found.end() : end])
        return text[: found.end()] + inline(inner) + inline(text[end:])
    return text
