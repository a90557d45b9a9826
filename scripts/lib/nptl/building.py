# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""building.py SOURCE TO ROOT AS : compiles glibc's tests against an installed glibc, and tells of each how that went.

Of glibc's tree SOURCE it takes the tests and what they are linked with (support/). ROOT is the installed glibc: '/', or a folder
that the tests name as AS, with its loader. TO gets a program for each test, and tests.json."""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys

if __package__ is None or __package__ == "":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from nptl import selection

OURS = pathlib.Path(__file__).resolve().parents[3] / "tests/nptl"
# What this library replaces (rust/preload/tests/library.rs has the whole list), and what C11 has instead.
CALLS = re.compile(r"\b(pthread_mutex_(?:lock|trylock|timedlock|clocklock|unlock)"
                   r"|pthread_cond_(?:wait|timedwait|clockwait|signal|broadcast)|(?:mtx|cnd)_\w+)(?:@|$)", re.MULTILINE)
# What a test has, behind the preprocessor, that says what is left to glibc.
KINDS = (
    ("recursive", "PTHREAD_MUTEX_RECURSIVE"),
    ("error checking", "PTHREAD_MUTEX_ERRORCHECK"),
    ("robust", "PTHREAD_MUTEX_ROBUST"),
    ("priority inheritance", "PTHREAD_PRIO_INHERIT"),
    ("priority protection", "PTHREAD_PRIO_PROTECT"),
    # Some tests write its number.
    ("process shared", r"PTHREAD_PROCESS_SHARED|setpshared \([^,;]*, 1\)"),
)


class Compiler:
    """gcc, with the headers and libraries of ROOT."""

    def __init__(self, source, to, root, as_):
        self.source, self.to = source, to
        overlay = to / "headers"
        overlay.mkdir()
        installed = [root / "usr/include", root / "usr/include/x86_64-linux-gnu"]
        # glibc's own headers that hide none of the installed ones.
        for header in (source / "include").glob("*.h"):
            if not any((folder / header.name).exists() for folder in installed):
                (overlay / header.name).write_text(header.read_text(errors="replace"))
        self.flags = ["-std=gnu11", "-fgnu89-inline", "-O2", "-w", "-pthread", "-D_GNU_SOURCE", "-D_ISOMAC",
                      "-DTIMEOUTFACTOR=1", "-Dlibc_hidden_proto(name)=", f"-I{overlay}", f"-I{OURS}/headers", f"-I{source}", f"-I{source}/support",
                      *(word for folder in selection.FOLDERS for word in ("-iquote", source / folder))]
        self.links = []
        if str(root) != "/":
            self.flags.append(f"--sysroot={root}")
            self.links = [f"-Wl,--dynamic-linker={as_}/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2,--disable-new-dtags,-rpath={as_}/lib/x86_64-linux-gnu"]

    def run(self, *words):
        """What the compiler says of why it failed; nothing where it did not."""
        ran = subprocess.run(["gcc", *map(str, [*self.flags, *words])], capture_output=True, text=True, check=False)
        return why(ran.stderr) if ran.returncode else ""

    def support(self):
        """An archive of those files of support/ that compile."""
        objects = self.to / "support"
        objects.mkdir()
        names = re.findall(r"^  ([\w-]+) \\$", (self.source / "support/Makefile").read_text().split("libsupport-routines")[1], re.MULTILINE)
        paths = [f"-D{name}_PATH=\"/nowhere\"" for name in
                 ("SRCDIR", "OBJDIR", "OBJDIR_ELF_LDSO", "INSTDIR", "LIBDIR", "BINDIR", "SBINDIR", "SLIBDIR", "ROOTSBINDIR", "COMPLOCALEDIR", "SYSCONFDIR")]
        # Headers that glibc's own, of which the installed ones are made, include besides.
        more = [word for header in ("limits.h", "stdlib.h", "string.h") for word in ("-include", header)]
        done = [objects / f"{name}.o" for name, said in
                zip(names, in_turn(lambda name: self.run("-c", *paths, *more, self.source / f"support/{name}.c", "-o", objects / f"{name}.o"), names))
                if not said]
        subprocess.run(["ar", "rcs", self.to / "libsupport.a", *done], check=True)

    def test(self, test):
        """Compiles a test. Why it did not; nothing where it did."""
        for module in test.modules:
            path = (self.source / test.file).with_name(f"{module}.c")
            said = self.run("-shared", "-fPIC", path, "-o", self.to / f"{module}.so") if path.is_file() else f"needs {module}.so"
            if said:
                return said
        export = ["-rdynamic"] if test.modules else []
        return self.run(*test.flags, self.source / test.file, "-o", self.to / test.name, self.to / "libsupport.a", *export, *self.links)

    def kinds(self, test):
        """The kinds of mutexes and condition variables left to glibc that the test's own text names, as it is compiled."""
        ran = subprocess.run(["gcc", *map(str, [*self.flags, *test.flags]), "-E", self.source / test.file],
                             capture_output=True, text=True, check=True)
        return kinds_in(ran.stdout, str(self.source))


def kinds_in(text, source):
    """The kinds that preprocessed text names in lines of files below `source`."""
    own, is_own = [], False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            is_own = marker[1].startswith(source)
        elif is_own:
            own.append(line)
    return [kind for kind, word in KINDS if any(re.search(word, line) for line in own)]


def in_turn(do, items):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(do, items))


def why(said):
    """The first reason that a compiler or linker gives, without its places."""
    for pattern, words in ((r"fatal error: (\S+): No such file", "needs glibc's own header {}"),
                           (r"undefined reference to [`'](\w+)'", "needs glibc's own function {}"),
                           (r"error: (.*)", "does not compile outside glibc: {}")):
        found = re.search(pattern, said)
        if found:
            return words.format(found[1])
    return "does not compile outside glibc"


def calls(program):
    """The functions of mutexes and condition variables that the program takes from a library."""
    ran = subprocess.run(["nm", "-D", "--undefined-only", program], capture_output=True, text=True, check=True)
    return sorted(set(CALLS.findall(ran.stdout)))


def main(source, to, root, as_):
    source, to, root = map(pathlib.Path, (source, to, root))
    compiler = Compiler(source, to, root, as_)
    compiler.support()
    tests = selection.select(source)

    def build(test):
        left_out = test.left_out or compiler.test(test)
        made = dataclasses.asdict(test)
        return {**made, "left_out": left_out, "calls": [] if left_out else calls(to / test.name),
                "kinds": [] if left_out else compiler.kinds(test)}

    built = in_turn(build, tests.values())
    if not any(not test["left_out"] for test in built):
        sys.exit("building.py: no test compiles")
    said = compiler.run(OURS / "version.c", "-o", to / "version", *compiler.links) \
        or compiler.run("-shared", "-fPIC", OURS / "conditions_of_glibc.c", "-o", to / "conditions_of_glibc.so")
    if said:
        sys.exit(f"building.py: {said}")
    (to / "tests.json").write_text(json.dumps(built, indent=1) + "\n")
    print(f"{sum(not test['left_out'] for test in built)} of {len(built)} tests compile")


if __name__ == "__main__":
    main(*sys.argv[1:])
