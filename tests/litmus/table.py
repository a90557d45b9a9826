# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""The ordering table as litmus tests: *.toml beside this file, one for each source file of rust/locks.

    [[row]]
    number               the row's, in the table of rust/locks/mod.rs
    release, acquire     its accesses in the code: "FILE FUNCTION WORD.METHOD", where WORD is a word's name, or the name
                         of the method that returns the word
    [[row.test]]         a way to need the row's order; a row has one or more
    name
    init                 the words that do not begin at 0
    threads              a text each; a line is a step, `[@ROLE ][REGISTER = ]WORD.METHOD(ARGUMENTS)`, or
                         `if REGISTER == VALUE:`, whose body stands two columns further right. Methods are those of `Word`,
                         where a wait is a load; and `read` and `write` of what a lock protects. A register that a
                         cmpxchg gives is 1 if the cmpxchg wrote.
    bad                  the outcome that must not be, as herd7 has it
    good                 an outcome that must be; it shows that the steps before the last are taken
    spare.ROLE           { models = [...] or ["all"], why = "..." }: models under which the role's order is not needed

A line's role is what the row is about. Each role is weakened alone: release and acquire to relaxed, a swap to its other
half, and rmw, an increment, to a load and a store.

park/park.toml has the table of rust/user/src/park.rs in the same form. It has `code` in place of release and acquire:
"FILE TEXT", where the text is in that file of rust/user/src once. Its roles have names of their own. There are steps of
order seq_cst, which are weakened to release, or acquire, and `cpu.barrier()`, a full barrier, which is left out.
"""

import pathlib
import re
import tomllib

ROW_KEYS = {"number", "release", "acquire", "test"}
TEST_KEYS = {"name", "init", "threads", "bad", "good", "spare"}
ROLES = ("release", "acquire", "rmw")
ORDERS = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")
BARRIER = "barrier"
STEP = re.compile(r"(?P<pad> *)(?:@(?P<role>\w+) )?(?:(?P<to>r\d) = )?(?P<at>\w+)\.(?P<op>\w+)\((?P<args>[\w, +-]*)\)")
IF = re.compile(r"(?P<pad> *)if (?P<left>r\d) (?P<how>==|!=) (?P<right>r\d|\d+):")
SITE = re.compile(r"(\w+\.rs) (\w+) (\w+)\.(\w+)")


def order_of(op):
    """("fetch_add", "release") of "fetch_add_release"."""
    for order in reversed(ORDERS):
        if op.endswith(f"_{order}"):
            return op[:-len(order) - 1], order
    return op, ""


def lines_of(thread):
    return thread.strip("\n").split("\n")


def steps_of(threads):
    """The steps, each as STEP has it."""
    return [step for thread in threads for line in lines_of(thread) if (step := STEP.fullmatch(line))]


def weakened(line, role):
    """The lines that stand for the step of a role without that role's order."""
    step = STEP.fullmatch(line)
    kind, order = order_of(step["op"])
    if role == "rmw":
        word = f"{step['pad']}{step['at']}"
        return [f"{step['pad']}r9 = {step['at']}.load_relaxed()", f"{word}.store_release(r9 + 1)"]
    if kind == BARRIER:
        return []
    if order == "seq_cst":
        return [line.replace(f".{kind}_{order}(", f".{kind}_{'acquire' if kind == 'load' else 'release'}(")]
    left = {"release": "acquire", "acquire": "release"}[role] if order == "acq_rel" else "relaxed"
    return [line.replace(f".{kind}_{order}(", f".{kind}_{left}(")]


def halved(line, role):
    """The step of a role, where a swap has no order but the role's."""
    return [line.replace(".swap_acq_rel(", f".swap_{role}(")]


def changed(threads, change, roles):
    """The threads, where `change` has made other lines of those of `roles`."""
    result = []
    for thread in threads:
        lines = []
        for line in lines_of(thread):
            step = STEP.fullmatch(line)
            lines += change(line, step["role"]) if step and step["role"] in roles else [line]
        result.append("\n".join(lines))
    return result


def is_spare(test, role, model):
    models = test.get("spare", {}).get(role, {}).get("models", [])
    return "all" in models or model in models


def variants(test, model):
    """(suffix, threads, condition, what herd7 must find) of each of the tests that a model gets of a test."""
    threads, bad = test["threads"], test["bad"]
    yield "", threads, bad, "forbidden"
    yield "-reached", threads, test["good"], "reached"
    roles = {step["role"] for step in steps_of(threads)}
    for role in sorted(roles - {None}):
        needless = is_spare(test, role, model)
        yield f"-without-{role}", changed(threads, weakened, [role]), bad, "forbidden" if needless else "allowed"
    if any(step["role"] and step["op"] == "swap_acq_rel" for step in steps_of(threads)):
        yield "-alone", changed(threads, halved, ROLES), bad, "forbidden"


def problems(rows):
    """What is wrong with the table by itself, a line each."""
    names = [test["name"] for row in rows for test in row["test"]]
    yield from (f"{name}: two tests of this name" for name in sorted(set(names)) if names.count(name) > 1)
    for row in rows:
        where = f"row {row.get('number', '?')}"
        if set(row) != ROW_KEYS:
            yield f"{where}: its keys are {', '.join(sorted(row))}, not {', '.join(sorted(ROW_KEYS))}"
            continue
        for test in row["test"]:
            if not set(test) <= TEST_KEYS or not TEST_KEYS - {"init", "spare"} <= set(test):
                yield f"{test.get('name', where)}: a key is unknown or missing"
            roles = {step["role"] for step in steps_of(test["threads"])} - {None}
            if not {"release", "acquire"} <= roles <= set(ROLES) or not set(test.get("spare", {})) <= roles:
                yield f"{test['name']}: its roles are {', '.join(sorted(roles))}"
        for role in ("release", "acquire"):
            ours = {site.rpartition(".")[2] for site in row[role]}
            theirs = {step["op"] for test in row["test"] for step in steps_of(test["threads"]) if step["role"] == role}
            if ours != theirs:
                yield f"{where}: its tests {role} by {', '.join(sorted(theirs))}, the code by {', '.join(sorted(ours))}"


HERE = pathlib.Path(__file__).resolve().parent


def load(folder=HERE):
    rows = [row for file in folder.glob("*.toml") for row in tomllib.loads(file.read_text())["row"]]
    return sorted(rows, key=lambda row: row["number"])


def load_parking(file=HERE / "park/park.toml"):
    """The rows of park.rs."""
    return tomllib.loads(file.read_text())["row"]
