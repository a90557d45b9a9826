# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""What scripts/report/prose needs of Markdown: blocks, sentences, cells of tables, anchors."""

import re


def words(text):
    """The words of a text; code is one."""
    return [word for word in re.sub(r"`[^`]*`", "code", text).split() if re.search(r"\w", word)]


def sentences(text):
    """Splits behind a full stop, a question mark or an exclamation mark. A list of code alone is no sentence."""
    text = re.sub(r"\b(e\.g|i\.e|etc|vs|cf|al|No)\.(?=\s)", r"\1", text)
    code = []
    text = re.sub(r"`[^`]*`", lambda it: code.append(it[0]) or f"`{len(code) - 1}`", text)
    parts = re.split(r"(?<=[.!?])[\"'*_)\]]*\s+", text)
    parts = [part for part in parts if re.sub(r"`\d+`|[\s,;.]", "", part)]
    return [re.sub(r"`(\d+)`", lambda it: code[int(it[1])], part) for part in parts]


def cells(row):
    """The cells of a table's row; a bar in code or behind a backslash is none."""
    row = re.sub(r"`[^`]*`", lambda it: it[0].replace("|", " "), row).replace("\\|", " ")
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def anchor(heading):
    """A heading's anchor, as the usual renderers make it."""
    heading = re.sub(r"`|\*|\[|\]\([^)]*\)", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def blocks(lines):
    """(kind, number of the first line, lines): 'text', 'table' or 'heading'; code is left out."""
    found, fence, comment = [], None, False
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        mark = re.match(r"(```+|~~~+)", bare)
        if mark and (fence is None or bare.startswith(fence)):
            fence = None if fence else mark[1]
            found.append(("gap", number, []))
        elif fence is not None:
            continue
        elif comment or bare.startswith("<!--"):
            comment = "-->" not in bare
            found.append(("gap", number, []))
        elif not bare:
            found.append(("gap", number, []))
        elif bare.startswith("#"):
            found.append(("heading", number, [bare.lstrip("#").strip()]))
        elif bare.startswith("|"):
            if found and found[-1][0] == "table":
                found[-1][2].append(bare)
            else:
                found.append(("table", number, [bare]))
        elif found and found[-1][0] in ("text", "table") and not re.match(r"([-*+]|\d+\.) ", bare):
            found[-1][2].append(bare)  # of a table: a row that is broken in two
        else:
            found.append(("text", number, [re.sub(r"^([-*+]|\d+\.) (\[[ x]\] )?", "", bare)]))
    return [block for block in found if block[0] != "gap"]
