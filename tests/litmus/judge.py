# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""judge.py OUT : a line for each test of OUT (make.py), by what herd7 said in OUT/MODEL.log: ok, or not ok and why.
judge.py OUT MODEL/NAME : what that test shows, or 'holds' where it shows what it must; and how large it was."""

import pathlib
import re
import sys

RACES = {"data-race", "*undef*"}


class Said:
    """What herd7 said of a test; `is_whole` where that is an answer."""

    def __init__(self, text):
        self.states = re.findall(r"^States (\d+)$", text, re.MULTILINE)
        counts = re.findall(r"^Positive: (\d+) Negative: (\d+)$", text, re.MULTILINE)
        observed = re.findall(r"^Observation \S+ (Never|Sometimes|Always) (\d+) (\d+)$", text, re.MULTILINE)
        flags = set(re.findall(r"^Flag (\S+)$", text, re.MULTILINE))
        self.is_whole = len(self.states) == len(counts) == len(observed) == 1 and flags <= RACES
        if self.is_whole:
            self.positive, negative = map(int, counts[0])
            self.is_whole = (self.positive + negative > 0 and observed[0][1:] == counts[0]
                             and (observed[0][0] == "Never") == (self.positive == 0))
        self.races = bool(flags & RACES)


NOTHING = Said("")


def answers(log):
    """{test: what herd7 said of it}; nothing of a test that it names twice."""
    result = {}
    for text in re.split(r"^(?=Test )", log, flags=re.MULTILINE)[1:]:
        name = text.split()[1]
        result[name] = NOTHING if name in result else Said(text)
    return result


def shown(name, has_twin, said):
    """What herd7 found, in a word. Where an outcome must not be, that of its twin must."""
    answer = said.get(name, NOTHING)
    if not answer.is_whole:
        return "nothing"
    if answer.positive:
        return "allowed"
    if answer.races:
        return "race"
    twin = said.get(f"{name}-reached", NOTHING)
    if has_twin and not (twin.is_whole and twin.positive):
        return "vacuous"
    return "forbidden"


def judge(model, name, what, why, has_twin, said):
    """What it shows, how large it was, and the line."""
    got, states = shown(name, has_twin, said), said.get(name, NOTHING).states
    size = f"{states[0]} state{'s' * (states[0] != '1')}" if states else "no states"
    if got != what:
        why = {"nothing": "herd7 gave no answer", "vacuous": "its good outcome never comes up"}.get(got, f"{got}, not {what}")
        return got, size, f"not ok litmus {model}/{name}: {why}"
    if what != "forbidden":
        return "holds", size, f"ok litmus {model}/{name}, a control ({what})"
    return "holds", size, f"ok litmus {model}/{name} (forbidden, {size}{why and f'; not needed here: {why}'})"


def main(out, only=None):
    out, logs, good = pathlib.Path(out), {}, True
    tests = [line.split("\t") for line in (out / "expected").read_text().splitlines()]
    twins = {(model, name) for model, name, what, _ in tests if what == "reached"}
    judged = [test for test in tests if test[2] != "reached" and only in (None, f"{test[0]}/{test[1]}")]
    if not judged:
        sys.exit(f"there is no test {only or ''}")
    for model, name, what, why in judged:
        if model not in logs:
            logs[model] = answers((out / f"{model}.log").read_text())
        word, size, verdict = judge(model, name, what, why, (model, f"{name}-reached") in twins, logs[model])
        print(f"{word}\n{size}" if only else verdict)
        good = good and word == "holds"
    sys.exit(0 if good or only else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
