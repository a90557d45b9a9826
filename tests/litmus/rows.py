# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""rows.py TREE : what the litmus tests, the table of rust/locks/mod.rs and the code beside it do not agree in, a line each;
fails if there is one. Otherwise it prints how many rows and accesses there are."""

import pathlib
import re
import sys
import tomllib

sys.dont_write_bytecode = True
import table  # noqa: E402

ORDERED = re.compile(r"\.\s*(\w+_(?:acquire|release|acq_rel))\s*\(")


def methods(locks):
    """The names of `Word`'s methods that order."""
    trait = re.search(r"pub trait Word \{.*?\n\}", (locks / "word.rs").read_text(), re.S)[0]
    return set(re.findall(r"fn (\w+_(?:acquire|release|acq_rel)|inc_release)\(", trait))


def receiver(text, end):
    """The name of what ends before `end`: a word's, or the method's that returns it."""
    text = text[:end].rstrip()
    if text.endswith(")"):
        depth = 0
        for at in range(len(text) - 1, -1, -1):
            depth += {")": 1, "(": -1}.get(text[at], 0)
            if not depth:
                text = text[:at]
                break
    return re.search(r"(\w+)$", text)[1]


def sites(locks):
    """The ordered accesses of the code: "FILE FUNCTION WORD.METHOD" each."""
    known = methods(locks)
    for file in sorted(locks.glob("*.rs")):
        text = re.sub(r"//[^\n]*", "", file.read_text())
        for call in ORDERED.finditer(text):
            function = re.findall(r"\bfn (\w+)", text[:call.start()])[-1]
            # A function of the method's name passes on what it is called for.
            if call[1] in known and function != call[1]:
                yield f"{file.name} {function} {receiver(text, call.start())}.{call[1]}"


def cells(line):
    return [cell.strip() for cell in line.removeprefix("//! |").strip().removesuffix("|").split("|")]


def documented(locks):
    """The rows of mod.rs: {number: (release, acquire, bugs)}; and [(row, role, whose)] of the orders that are spare."""
    rows, spared, before = {}, [], ("", "")
    for line in (locks / "mod.rs").read_text().splitlines():
        if not re.match(r"//! \| \d+ \|", line):
            continue
        row = cells(line)
        if len(row) == 5:
            before = tuple(old if new == "the same" else new for old, new in zip(before, row[1:3]))
            rows[int(row[0])] = (*before, row[4])
        else:
            spared.append((int(row[0]), re.match(r'\w+', row[1])[0].lower(), row[2]))
    return rows, spared


def named(cell):
    """The functions that a cell names: `Lock::function` or `function`."""
    return {word.rpartition("::")[2] for word in re.findall(r"`([\w:]+)`", cell)}


def apart(some, others):
    """The numbers that are not in both once."""
    every = [*some, *others]
    return sorted(number for number in set(every) if every.count(number) != 2)


def parking(source):
    """What park.rs and its litmus tests do not agree in."""
    rows = table.load_parking()
    numbers = [int(number) for number in re.findall(r"^//! \| (\d+) \|", (source / "park.rs").read_text(), re.MULTILINE)]
    if numbers != [row["number"] for row in rows]:
        yield f"park.rs has the rows {numbers}, its tests others"
    for row in rows:
        if set(row) != {"number", "code", "test"}:
            yield f"row {row['number']} of park.rs: its keys are {', '.join(sorted(row))}"
        for site in row["code"]:
            file, _, text = site.partition(" ")
            times = " ".join((source / file).read_text().split()).count(text)
            if times != 1:
                yield f"row {row['number']} of park.rs: {file} has {times} times {text}"


def problems(tree):
    yield from parking(tree / "rust/user/src")
    locks = tree / "rust/locks"
    rows, (documents, spared), code = table.load(), documented(locks), list(sites(locks))
    yield from table.problems(rows)
    numbers = [row["number"] for row in rows]
    if numbers != list(documents) or numbers != list(range(1, len(numbers) + 1)):
        yield f"rows {apart(numbers, documents)} are not 1 to {len(documents)}, each in the tests and in mod.rs once"
        return
    for row in rows:
        for role, cell in zip(("release", "acquire"), documents[row["number"]]):
            for site in row[role]:
                if not table.SITE.fullmatch(site) or site not in code:
                    yield f"row {row['number']}: the code has no {site}"
                elif site.split()[1] not in named(cell):
                    yield f"row {row['number']}: mod.rs does not name {site.split()[1]} as its {role}"
    for site in sorted(set(code)):
        for role in ("release", "acquire"):
            if re.search(f"_{role}$|_acq_rel$", site) and not any(site in row[role] for row in rows):
                yield f"no row has {site} as its {role}"
    ours = {(row["number"], role, "both" if "all" in how["models"] else "the kernel's")
            for row in rows for test in row["test"] for role, how in test.get("spare", {}).items()}
    for number, role, whose in sorted(ours ^ set(spared)):
        where = "the tests" if (number, role, whose) in ours else "mod.rs"
        yield f"row {number}: only {where} say that the {role} is not needed by {whose}"
    bugs = {bug["name"] for file in (tree / "tests/mutants").glob("*.toml")
            for bug in tomllib.loads(file.read_text()).get("mutant", [])}
    for number, (_, _, broken) in documents.items():
        for bug in re.findall(r"`([^`]+)`", broken):
            if bug not in bugs:
                yield f"row {number}: there is no planted bug {bug}"


if __name__ == "__main__":
    TREE = pathlib.Path(sys.argv[1])
    FOUND = list(problems(TREE))
    print("\n".join(FOUND) or f"{len(table.load())} rows, {len(set(sites(TREE / 'rust/locks')))} accesses")
    sys.exit(1 if FOUND else 0)
