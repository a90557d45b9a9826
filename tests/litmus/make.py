# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""make.py OUT [TEST...] : the litmus tests of the table (or those named) for herd7, and what it must find there.

OUT/MODEL/NAME.litmus are the tests, and OUT/expected has a line each: MODEL, NAME, and forbidden, allowed, reached, or
what a control shows. For a spare order comes the reason.

    TEST               `bad` must be forbidden
    TEST-reached       `good` must come up, for otherwise the others say nothing
    TEST-without-ROLE  `bad`, where the role's lines have lost that order, must be allowed, or forbidden if it is spare
    TEST-alone         `bad`, where the swaps that have a role have that order alone, must be forbidden
    control-*          the first test with a fault, which must be seen
"""

import pathlib
import sys

sys.dont_write_bytecode = True
import table  # noqa: E402
from dialect import Dialect  # noqa: E402

# What a lock protects is read and written by plain accesses, or by marked ones, whose outcome a model tells.
MODELS = {"lkmm": Dialect(False, False), "lkmm-plain": Dialect(False, True),
          **{model: Dialect(True, True) for model in ("c11", "cpp20", "c11-2016")}}


def controls(test, dialect):
    """(name, text, what must be seen) of the faults that a test, its outcomes or herd7's answer may have."""
    init, threads, bad, good = test["init"], test["threads"], test["bad"], test["good"]
    never = good.replace("=1", "=7")
    relaxed = table.changed(threads, table.weakened, ["release"])
    yield "control-vacuous", dialect.test("control-vacuous", init, threads, bad), "vacuous"
    yield "control-vacuous-reached", dialect.test("control-vacuous-reached", init, threads, never), "reached"
    yield "control-unread", dialect.test("control-unread", init, threads, bad).replace("grant", "grant+", 1), "nothing"
    if dialect.is_plain:
        # No outcome shows the race.
        yield "control-race", dialect.test("control-race", init, relaxed, never), "race"


def main(out, names):
    out, expected = pathlib.Path(out), []
    tests = [test for row in table.load() + table.load_parking() for test in row["test"]]
    known = [test["name"] for test in tests]
    for name in names:
        if name not in known and not name.startswith("control-"):
            sys.exit(f"there is no test {name}; there are {' '.join(known)}")

    def write(model, name, text, what, why=""):
        (out / model / f"{name}.litmus").write_text(text)
        expected.append(f"{model}\t{name}\t{what}\t{why}\n")

    for model, dialect in MODELS.items():
        (out / model).mkdir(parents=True)
        for test in tests:
            has_data = any(step["op"] == "read" for step in table.steps_of(test["threads"]))
            if (names and test["name"] not in names) or (model == "lkmm-plain" and not has_data):
                continue
            for suffix, threads, condition, what in table.variants(test, model):
                name = test["name"] + suffix
                spare = test.get("spare", {}).get(suffix.rpartition("-")[2]) if what == "forbidden" else None
                text = dialect.test(name, test.get("init", {}), threads, condition)
                write(model, name, text, what, spare["why"] if spare else "")
        for name, text, what in controls(tests[0], dialect):
            if not names or name.removesuffix("-reached") in names:
                write(model, name, text, what)
    (out / "expected").write_text("".join(expected))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
