#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""check.py SOURCE OBJECT : whether the emulator sees of each function what SOURCE says above it. Prints `NAME: ok` or
`NAME: why not` for each."""

import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/report"))
from machine import Machine, x86  # noqa: E402


def listed(text):
    return [one for one in re.split(r",\s*", text.strip()) if one]


source, machine = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"), Machine(sys.argv[2])
due = re.findall(r"/\* steps:(.*)\*/\n/\* calls:(.*)\*/\nfunction (\w+)\n", source)
for steps, calls, name in due:
    function, seen, wrong = machine.image.symbols[name], [], []
    fault = machine.run(function, x86.UC_X86_REG_RSI, {}, lambda step, _address: seen.append(step))
    # A step is told at the next instruction, which is none of the function's where it ends by a jump.
    seen += [machine.step[0]] if machine.step else []
    # No step is enough for a function that returns.
    if fault != "it returns too early":
        wrong.append(str(fault))
    if seen != listed(steps):
        wrong.append(f"the steps are {', '.join(seen)}")
    if machine.calls(function) != set(listed(calls)):
        wrong.append(f"it may call {', '.join(sorted(machine.calls(function)))}")
    print(f"{name}: {'; '.join(wrong) or 'ok'}")
