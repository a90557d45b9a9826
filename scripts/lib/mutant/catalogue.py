# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""Catalogues of planted bugs, tests/mutants/PART.toml.

    [tests]                    the place of a world's tests, for the worlds that cargo runs
    "host/hazards" = { package = "handover-rlock", test = "hazards" }     or lib = true, or bin = NAME; toolbox = "rdma";
                                                                          features = [...]

    [[claim]]                  a line of docs/claims.md
    text                       what holds: sentences, each with a noun as its subject
    check                      where and how it is checked
    bugs                       names of bugs (PART/NAME in another catalogue) that the check must catch
    control                    other evidence that the check can fail

    [[mutant]]
    name                       the bug's, once in a catalogue
    claim                      one sentence, with a noun as its subject: what the planted code does
    file, old, new             `old` occurs exactly once in `file`; without `old` the file must not exist
    edits = [{file, old, new}] several of them, those of one file in its order
    caught                     "WORLD[/PLACE] TEST": each of these must find it
    see                        the hazard or mistake of the part's page

and what a world asks for, all optional (OPTIONS). A key that is not named here is an error.
"""

import dataclasses
import difflib
import pathlib
import re
import tomllib

WORLDS = ("loom", "host", "step", "shuttle", "sim", "rdma", "device", "kunit", "torture", "locktorture", "job", "compile",
          "sample", "disasm", "lockdep", "sanitized", "spin", "litmus", "proof", "tla", "tsan", "suite", "python")
CARGO = ("loom", "host", "step", "shuttle", "sim", "rdma")
# The doors that plant bugs, the worlds that `make test` has no time for, and those in which it plants every bug.
DOORS = ("test", "test-deep")
DEEP = ("rdma", "kunit", "locktorture", "job", "sample", "disasm", "sanitized", "device", "proof", "tla", "tsan", "suite")
QUICK = ("litmus",)

# Key: its type, and the worlds that know it.
OPTIONS = {
    "hangs": (bool, CARGO + ("device", "torture")),  # it may keep the test from ending, which counts as caught
    "tries": (int, CARGO + ("locktorture",)),        # only chance finds it: up to so many runs
    "fast": (bool, CARGO),                           # only optimised code shows it
    "x86": (bool, WORLDS),                           # false: no x86 machine shows it
    "unseen": (str, WORLDS),                         # of the locks' code (LOCKS): why the kernel's locktorture does not find it
    "starves": (bool, ("torture",)),                 # the watchdog speaks also when every CPU hangs
    "words": (str, ("torture",)),                    # what else the experiment is asked for
    "kernel": (str, ("disasm", "compile", "kunit", "torture")),  # not test; to the first it must be said
    "cases": (str, ("kunit",)),                      # the glob of the cases that run; the one test, by itself
    "shows": ((str, dict), ("spin", "litmus", "proof", "tla", "kunit", "disasm", "lockdep", "compile", "sample", "job",
                          "sanitized", "suite")),                   # what it looks like
    "parts": (str, ("suite",)),                      # the suite's arguments
    "silent": (bool, ("lockdep",)),                  # the report of `shows` must not come
    "least": (int, ("lockdep",)),                    # at least so many leaks
    "after": (str, WORLDS),                          # another bug of the catalogue that is planted first
    "deep": ((bool, list), WORLDS),                  # planted by test-deep alone: true, or which of `caught`; false: by test,
                                                     # though other bugs of its claim stand before it
}
CATALOGUE_KEYS = {"tests", "claim", "mutant"}
CLAIM_KEYS = {"text", "check", "bugs", "control"}
BUG_KEYS = {"name", "claim", "file", "old", "new", "edits", "caught", "see"}
EDIT_KEYS = {"file", "old", "new"}
LEAST_WORDS = 4  # of a bug's claim
NO_SUBJECTS = ("It", "They", "Their", "Its", "Who", "Whoever", "Nobody", "Somebody", "Only")
LOCKS = re.compile(r"rust/(locks|linux/spin)/\w+\.(rs|c)")
PLACE_KEYS = {"package": str, "test": str, "lib": bool, "bin": str, "toolbox": str, "features": list}


class Refused(Exception):
    """A catalogue, or a name, that is not as it must be: one line that says why."""


@dataclasses.dataclass(frozen=True)
class Edit:
    file: str
    old: str | None
    new: str


@dataclasses.dataclass(frozen=True)
class Catch:
    """Who must find a bug: `test` of `world`, at `place` ("host/hazards")."""
    place: str
    test: str

    @property
    def world(self):
        return self.place.split("/")[0]

    def __str__(self):
        return f"{self.place} {self.test}"


@dataclasses.dataclass
class Bug:
    part: str
    name: str
    claim: str
    edits: list
    caught: list
    options: dict
    spared: bool = False  # `make test` plants another bug of each of its claims

    @property
    def full(self):
        return f"{self.part}/{self.name}"

    @property
    def stem(self):
        return f"{self.part}-{self.name}"

    def option(self, key, default=None):
        return self.options.get(key, default)

    def door(self, catch):
        """Which of DOORS has this test find the bug."""
        deep = self.option("deep", [])
        if isinstance(deep, list):
            deep = catch.world in (*DEEP, *deep) or str(catch) in deep or (self.spared and catch.world not in QUICK)
        return DOORS[deep]


@dataclasses.dataclass
class Claim:
    part: str
    text: str
    check: str
    bugs: list
    control: str


@dataclasses.dataclass
class Catalogue:
    part: str
    places: dict
    claims: list
    bugs: dict


def _typed(where, table, key, kind, default=None):
    value = table.get(key, default)
    if value is None:
        raise Refused(f"{where}: {key} is missing")
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Refused(f"{where}: {key} is not a {getattr(kind, '__name__', kind)}")
    return value


def _known(where, table, allowed):
    for key in table:
        if key not in allowed:
            raise Refused(f"{where}: unknown key {key}; known are {', '.join(sorted(allowed))}")


def _subject(where, text):
    first = text.split()[0].strip(",;:") if text.split() else ""
    if first.capitalize() in NO_SUBJECTS:
        raise Refused(f"{where}: begins with '{first}'; allowed: a noun as the subject, and none of {', '.join(NO_SUBJECTS)}")


def _edit(where, table):
    _known(where, table, EDIT_KEYS)
    file = _typed(where, table, "file", str)
    if file.startswith("/") or ".." in pathlib.PurePath(file).parts:
        raise Refused(f"{where}: {file} is outside the tree")
    old = _typed(where, table, "old", str) if "old" in table else None
    if old == "":
        raise Refused(f"{where}: old is empty")
    new = _typed(where, table, "new", str)
    if old == new:
        raise Refused(f"{where}: old and new are the same")
    return Edit(file, old, new)


def _catch(where, line, places):
    place, _, test = line.partition(" ")
    found = Catch(place, test)
    if found.world not in WORLDS or not test:
        raise Refused(f"{where}: '{line}' is not 'WORLD TEST', with a world of {', '.join(WORLDS)}")
    if found.world in CARGO and place not in places:
        raise Refused(f"{where}: no {place} in [tests]")
    return found


def _bug(part, table, places):
    where = f"{part}/{table.get('name', '?')}"
    _known(where, table, BUG_KEYS | set(OPTIONS))
    name = _typed(where, table, "name", str)
    if not name or any(c not in "abcdefghijklmnopqrstuvwxyz0123456789-" for c in name):
        raise Refused(f"{where}: a name is of a to z, 0 to 9 and -")
    claim = _typed(where, table, "claim", str)
    if len(claim.split()) < LEAST_WORDS:
        raise Refused(f"{where}: the claim '{claim}' is no sentence; allowed: {LEAST_WORDS} words or more")
    _subject(where, claim)
    caught = [_catch(where, line, places) for line in _typed(where, table, "caught", list)]
    if not caught:
        raise Refused(f"{where}: caught names no test")
    if len(set(caught)) != len(caught):
        raise Refused(f"{where}: caught names a test twice")
    if "edits" in table:
        if any(key in table for key in EDIT_KEYS):
            raise Refused(f"{where}: either edits, or file, old and new")
        edits = [_edit(where, one) for one in _typed(where, table, "edits", list)]
    else:
        edits = [_edit(where, {key: table[key] for key in EDIT_KEYS if key in table})]
    if not edits:
        raise Refused(f"{where}: edits is empty")
    options = {key: table[key] for key in OPTIONS if key in table}
    for key, value in options.items():
        kind, worlds = OPTIONS[key]
        _typed(where, options, key, kind)
        if not any(one.world in worlds for one in caught):
            raise Refused(f"{where}: {key} says nothing to {', '.join(sorted({one.world for one in caught}))}")
        if kind is int and value < 1:
            raise Refused(f"{where}: {key} is below 1")
    locks = any(LOCKS.fullmatch(one.file) for one in edits) and options.get("x86", True)
    seen = any(one.world == "locktorture" for one in caught)
    if ("unseen" in options) != (locks and not seen):
        raise Refused(f"{where}: allowed: for a bug in rust/locks or rust/linux/spin that x86 can show, a test 'locktorture LOCK', or unseen; for others no unseen")
    if "shows" not in options and any(one.world == "suite" for one in caught):
        raise Refused(f"{where}: a suite must say what is seen: shows is missing")
    deep = options.get("deep")
    allowed = dict.fromkeys(word for one in caught if one.world not in DEEP for word in (one.world, str(one)))
    if isinstance(deep, list) and (not deep or not set(deep) <= set(allowed)):
        raise Refused(f"{where}: deep names {', '.join(map(str, deep)) or 'nothing'}; allowed: "
                      f"{', '.join(['true', 'false', *allowed])}")
    return Bug(part, name, claim, edits, caught, options)


def _claim(part, table):
    where = f"{part}: the claim '{str(table.get('text', '?'))[:40]}'"
    _known(where, table, CLAIM_KEYS)
    bugs = _typed(where, table, "bugs", list, [])
    text = _typed(where, table, "text", str)
    _subject(where, text)
    return Claim(part, text, _typed(where, table, "check", str),
                 [name if "/" in name else f"{part}/{name}" for name in bugs],
                 _typed(where, table, "control", str, ""))


def load(file):
    """One catalogue."""
    part = file.stem
    try:
        table = tomllib.loads(file.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refused(f"{file.name}: {error}") from None
    _known(file.name, table, CATALOGUE_KEYS)
    places = table.get("tests", {})
    for place, how in places.items():
        where = f"{file.name}: [tests] {place}"
        _known(where, how, PLACE_KEYS)
        for key in how:
            _typed(where, how, key, PLACE_KEYS[key])
        if "package" not in how or sum(key in how for key in ("test", "lib", "bin")) != 1:
            raise Refused(f"{where}: a package, and one of test, lib = true and bin")
    bugs = {}
    for one in table.get("mutant", []):
        bug = _bug(part, one, places)
        if bug.name in bugs:
            raise Refused(f"{bug.full}: two bugs of this name")
        bugs[bug.name] = bug
    for bug in bugs.values():
        if bug.option("after") and bug.option("after") not in bugs:
            raise Refused(f"{bug.full}: after {bug.option('after')}, which is not there")
    return Catalogue(part, places, [_claim(part, one) for one in table.get("claim", [])], bugs)


def load_all(folder):
    """All of them, by part."""
    files = sorted(folder.glob("*.toml"), key=lambda file: file.stem)
    if not files:
        raise Refused(f"{folder}: no catalogue")
    catalogues = {file.stem: load(file) for file in files}
    _spare(catalogues)
    return catalogues


def _spare(catalogues):
    """For each claim `make test` plants one of the claim's bugs; it is spared the others."""
    candidates = {bug.full: bug for one in catalogues.values() for bug in one.bugs.values()
                  if any(bug.door(catch) == "test" for catch in bug.caught)}
    kept = {name for name, bug in candidates.items() if bug.option("deep") is False}
    for claim in (claim for one in catalogues.values() for claim in one.claims):
        named = [candidates[name] for name in claim.bugs if name in candidates]
        if named and not any(bug.full in kept for bug in named):
            kept.add(named[0].full)
        for bug in named:
            bug.spared = True
    for name in kept:
        candidates[name].spared = False


def parts_of(catalogues, word):
    """The catalogues that a part's name stands for: rlock is rlock and rlock-*."""
    return [part for part in catalogues if part == word or part.startswith(f"{word}-")]


def find(catalogues, words):
    """The bugs that words (parts, bugs, PART/BUG) name, each once, in the catalogues' order; all, of no words."""
    chosen = set()
    everything = [bug for one in catalogues.values() for bug in one.bugs.values()]
    for word in words:
        parts = parts_of(catalogues, word)
        named = [bug.full for bug in everything if bug.part in parts or word in (bug.name, bug.full)]
        if parts and not named:
            raise Refused(f"{word} has claims, and no planted bugs")
        if not named:
            raise Refused(f"no part and no bug is called {word}; the parts are {' '.join(catalogues)}")
        chosen.update(named)
    return [bug for bug in everything if not words or bug.full in chosen]


def restrict(bugs, names, doors):
    """The bugs that these worlds must find behind these doors, with those tests alone."""
    for bug in bugs:
        bug.caught = [catch for catch in bug.caught if catch.world in names and bug.door(catch) in doors]
    return [bug for bug in bugs if bug.caught]


def shared(bugs, share):
    """Of these bugs the Kth and each Nth after it, as share K/N. Shares 1/N to N/N have each bug once, and slow neighbours apart."""
    found = re.fullmatch(r"([1-9][0-9]*)/([1-9][0-9]*)", share)
    if not found or int(found[1]) > int(found[2]):
        raise Refused(f"--share {share}: allowed: K/N, from 1/N to N/N")
    return bugs[int(found[1]) - 1::int(found[2])]


def with_base(catalogues, bug):
    """The bugs that are planted for this one, in order."""
    chain = [bug]
    while chain[0].option("after"):
        base = catalogues[bug.part].bugs[chain[0].option("after")]
        if base in chain:
            raise Refused(f"{bug.full}: after itself")
        chain.insert(0, base)
    return chain


def planted(text, edits, file):
    """`text` with the edits, which are in its order; each old text occurs exactly once."""
    result, end = [], 0
    for edit in edits:
        at = text.find(edit.old)
        if at < 0:
            raise Refused(f"does not apply: {file} has not the old text '{edit.old.strip()[:50]}'")
        if text.find(edit.old, at + 1) >= 0:
            raise Refused(f"does not apply: {file} has the old text twice: '{edit.old.strip()[:50]}'")
        if at < end:
            raise Refused(f"does not apply: the edits of {file} are not in its order, or overlap")
        result += [text[end:at], edit.new]
        end = at + len(edit.old)
    return "".join(result) + text[end:]


def changes(bug, tree):
    """{file: (text or None, planted text)}; raises before anything is written."""
    result = {}
    for file in dict.fromkeys(edit.file for edit in bug.edits):
        edits = [edit for edit in bug.edits if edit.file == file]
        path = tree / file
        if edits[0].old is None:
            if len(edits) > 1:
                raise Refused(f"does not apply: {file} is new and has several edits")
            if path.exists():
                raise Refused(f"does not apply: {file}, a new file, is there")
            result[file] = None, edits[0].new
        elif any(edit.old is None for edit in edits):
            raise Refused(f"does not apply: {file} is new and has several edits")
        elif not path.is_file():
            raise Refused(f"does not apply: there is no {file}")
        else:
            text = path.read_bytes().decode()
            result[file] = text, planted(text, edits, file)
    return result


def plant(bug, tree):
    """Writes the bug into `tree`, and returns what takes it out again: {file: (bytes, mode) or None}."""
    todo = changes(bug, tree)
    before = {}
    for file, (_, text) in todo.items():
        path = tree / file
        before[file] = (path.read_bytes(), path.stat().st_mode) if path.exists() else None
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, text.encode(), before[file] and before[file][1])
    return before


def _write(path, content, mode):
    # Never in place: the file may be another tree's, too, by a hard link.
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    if mode is not None:
        path.chmod(mode)


def unplant(before, tree):
    for file, was in before.items():
        path = tree / file
        if was is None:
            path.unlink()
        else:
            _write(path, *was)


def diff(bug, tree):
    """The bug as a patch for `git apply`, and for `patch -p1`."""
    lines = []
    for file, (text, new) in changes(bug, tree).items():
        source = "/dev/null" if text is None else f"a/{file}"
        lines += [f"diff --git a/{file} b/{file}\n"] + (["new file mode 100644\n"] if text is None else [])
        for line in difflib.unified_diff((text or "").splitlines(True), new.splitlines(True), source, f"b/{file}"):
            lines.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(lines)


def kept(catalogues, claim):
    """Whether `make test` plants a bug of the claim, or has none of the worlds of its bugs."""
    bugs = [bug for one in catalogues.values() for bug in one.bugs.values() if bug.full in claim.bugs]
    catches = [(bug, catch) for bug in bugs for catch in bug.caught]
    return any(bug.door(catch) == "test" for bug, catch in catches) or all(catch.world in DEEP for _, catch in catches)


def problems(catalogues, tree):
    """What is wrong with the catalogues as a whole, a line each."""
    found = []
    named = {}
    for one in catalogues.values():
        for claim in one.claims:
            for name in claim.bugs:
                part, _, bug = name.partition("/")
                if part not in catalogues or bug not in catalogues[part].bugs:
                    found.append(f"{one.part}: the claim '{claim.text}' names {name}, which is not there")
                named[name] = True
            if not kept(catalogues, claim):
                found.append(f"{one.part}: of the claim '{claim.text}' make test plants no bug, though it has the worlds")
    for one in catalogues.values():
        for bug in one.bugs.values():
            if bug.full not in named:
                found.append(f"{bug.full}: no claim names it")
            try:
                chain = with_base(catalogues, bug)
                if len(chain) == 1:
                    changes(bug, tree)
            except Refused as error:
                found.append(f"{bug.full}: {error}")
            found += [f"{bug.full}: {catch}: no such verdict in the job" for catch in bug.caught if not is_verdict(catch, tree)]
    return found


def is_verdict(catch, tree):
    """Whether a guest's job has the verdict that a bug names: a job that is asked for another one says nothing at all."""
    where, _, name = catch.test.partition(" ")
    kernel, _, job = where.partition("/")
    name = name.removeprefix("dies").strip()
    if catch.world not in ("job", "sanitized") or not job or not name:
        return True
    file = tree / f"tests/guest/{job}.sh"
    # A verdict's name may have a variable in it.
    patterns = [re.sub(r"\\\$\w+", ".+", re.escape(said)) for said in re.findall(r'verdict "([^"]*)"', file.read_text())] \
        if file.is_file() else []
    return any(re.fullmatch(pattern, name) for pattern in patterns)
