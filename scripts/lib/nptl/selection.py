# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""Which of glibc's tests are of mutexes or condition variables, and why some of them cannot run outside its own build.

The rule is the text's: a test is one of them if it, or what it includes by a name in quotes, mentions a function of POSIX's or
of C11's for them. What glibc's makefiles say about a test is taken from them."""

import dataclasses
import re

FOLDERS = ("nptl", "sysdeps/pthread", "sysdeps/unix/sysv/linux")
MENTIONS = re.compile(r"pthread_mutex_|pthread_cond_|\bmtx_|\bcnd_")
# Lists of glibc's makefiles whose tests are not programs that start by themselves with the installed library.
LEFT_OUT = (
    ("tests-static", "linked statically: no library is loaded into it"),
    ("xtests-static", "linked statically: no library is loaded into it"),
    ("tests-printers", "a program for gdb: a script looks at glibc's own fields of its objects"),
    ("tests-container", "needs the container of glibc's own build"),
    ("modules-names", "no test: a library for one"),
)
# A test whose makefile takes its dialect from its name.
BY_NAME = re.compile(r"tst-initializers1-(\w+)")


@dataclasses.dataclass
class Test:
    name: str
    file: str
    left_out: str
    flags: list
    env: dict
    modules: list


def text_of(source, path, seen=None):
    """A file's text, with that of each file that it includes by a name in quotes."""
    seen = set() if seen is None else seen
    if path in seen:
        return ""
    seen.add(path)
    text = path.read_text(errors="replace")
    for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE):
        # As the compiler: beside the file, then in glibc's folders of tests.
        for folder in (path.parent, *(source / one for one in FOLDERS)):
            if (folder / name).is_file() and "skeleton" not in name:
                text += text_of(source, (folder / name).resolve(), seen)
                break
    return text


def without_comments(text):
    """A comment may mention what the program does not."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)


class Makefile:
    """What a makefile of glibc says of its tests, as far as it is plain words."""

    def __init__(self, text):
        self.values = {}
        text = re.sub(r"\\\n", " ", text)
        for name, value in re.findall(r"^\s*([\w<>.-]+)\s*(?::|\+)?=\s*(.*)$", text, re.MULTILINE):
            self.values.setdefault(name, []).extend(value.split("#")[0].split())
        self.modules = {}
        for test, needs in re.findall(r"^\$\(objpfx\)([\w.-]+)\s*:\s*(.*)$", text, re.MULTILINE):
            self.modules.setdefault(test.removesuffix(".out"), []).extend(re.findall(r"\$\(objpfx\)([\w-]+)\.so\b", needs))

    def lists(self, test):
        """The lists whose tests are left out that the test is in."""
        return [name for name, _ in LEFT_OUT if test in self.values.get(name, ())]

    def plain(self, name):
        return [word for word in self.values.get(name, ()) if "$" not in word]


def select(source):
    """The tests, by name, in the order of their names."""
    makefile = Makefile("\n".join((source / folder / "Makefile").read_text() for folder in FOLDERS
                                  if (source / folder / "Makefile").is_file()))
    found = {}
    for path in (path for folder in FOLDERS for path in (source / folder).glob("t*st-*.c")):
        text = without_comments(text_of(source, path))
        if not MENTIONS.search(text):
            continue
        name = path.stem
        found[name] = Test(
            name=name, file=str(path.relative_to(source)),
            left_out=next((why for list_, why in LEFT_OUT if list_ in makefile.lists(name)), ""),
            flags=[*makefile.plain(f"CFLAGS-{name}.c"), *(f"-std={found[1]}" for found in [BY_NAME.fullmatch(name)] if found)],
            env=dict(word.split("=", 1) for word in makefile.plain(f"{name}-ENV") if "=" in word),
            modules=makefile.modules.get(name, []))
    return dict(sorted(found.items()))
