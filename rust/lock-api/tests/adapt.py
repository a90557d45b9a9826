#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""cargo metadata | adapt.py TO : takes the tests of mutexes and condition variables out of parking_lot's source, where cargo
has put it. Writes them to the folder TO as tests of this crate, a file for each lock. Prints a line for each left out."""

import json
import pathlib
import re
import sys

LOCKS = ("Ticket", "Twa", "OneWordTwa", "Mcs", "Clh")
# What lock_api leaves open, and parking_lot and this crate do differently.
LEFT_OUT = {
    "two_mutexes": "parking_lot's condition variable panics where it is used with a second mutex; ours serves both",
}
HEAD = """// Tests of parking_lot, adapted by rust/lock-api/tests/adapt.py.
type Mutex<T> = handover_lock_api::{lock}Mutex<T>;
type MutexGuard<'a, T> = handover_lock_api::{lock}Guard<'a, T>;
type MappedMutexGuard<'a, T> =
    lock_api::MappedMutexGuard<'a, handover_lock_api::Raw<handover_lock_api::{lock}<handover_user::Park>>, T>;
type Condvar = handover_lock_api::Condvar<handover_lock_api::{lock}<handover_user::Park>>;
"""


def modules(text):
    """(name, body) of each module of tests."""
    for found in re.finditer(r"^#\[cfg\(test\)\]\n(?:#\[[^\n]*\n)*mod (\w+) \{\n(.*?)^\}$", text, re.MULTILINE | re.DOTALL):
        yield found[1], found[2]


def without(body, test):
    """The body without this test."""
    body, found = re.subn(rf"^    #\[test\]\n(?:    #\[[^\n]*\n)*    fn {test}\(\) \{{\n.*?^    \}}\n", "", body,
                          flags=re.MULTILINE | re.DOTALL)
    if found != 1:
        sys.exit(f"adapt.py: {found} tests are named {test}")
    return body


to = pathlib.Path(sys.argv[1])
source, = (pathlib.Path(package["manifest_path"]).parent for package in json.load(sys.stdin)["packages"]
           if package["name"] == "parking_lot")
bodies = []
for file in ("mutex", "condvar"):
    for name, body in modules((source / f"src/{file}.rs").read_text(encoding="utf-8")):
        for test in LEFT_OUT:
            if f"fn {test}()" in body:
                body = without(body, test)
        bodies.append(f"mod {file}_{name} {{\n{body.replace('use crate::', 'use super::')}}}\n")
if not any("#[test]" in body for body in bodies):
    sys.exit("adapt.py: no test was found")
to.mkdir(parents=True, exist_ok=True)
for lock in LOCKS:
    (to / f"{lock}.rs").write_text(HEAD.replace("{lock}", lock) + "\n" + "\n".join(bodies), encoding="utf-8")
for name, why in LEFT_OUT.items():
    print(f"left out: {name}: {why}")
