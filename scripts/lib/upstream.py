# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""The files of the patches for rust/kernel/sync (scripts/upstream): ours, with what a file of the kernel says otherwise.

A step that finds nothing to change fails, so that a changed source cannot come out half changed."""

import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import tomllib

WIDTH = 100
FIFO = "rust/kernel/sync/lock/fifo"

# How a comment's line begins that is no paragraph's: a table, a heading, a list, a program, a remark.
APART = r"\||#|- |```|<|\d+\. "

# What a lock of FIFO order has no use for, of rust/locks/word.rs and of its kernel's word.
UNUSED = ["store_relaxed", "swap_acq_rel", "cmpxchg_release", "swap_acq_rel_part", "store_relaxed_part", "store_release_part"]

# A file's text by steps.

def without(text, *patterns):
    """Each pattern must be there once, and goes."""
    return put(text, *((pattern, "") for pattern in patterns))


def put(text, *pairs):
    """Of each pair the first, literal text that is there once, becomes the second."""
    for old, new in pairs:
        if text.count(old) != 1:
            raise SystemExit(f"upstream: {text.count(old)} times, not once: {old!r}")
        text = text.replace(old, new)
    return text


def each(text, *pairs):
    """The same of text that is there at least once."""
    for old, new in pairs:
        if old not in text:
            raise SystemExit(f"upstream: not there: {old!r}")
        text = text.replace(old, new)
    return text


def without_examples(text):
    """Doc comments without their section of examples, which are of another world."""
    text, count = re.subn(r"(?m)^( *)/// # Examples\n(?:\1///.*\n)+", "", text)
    if not count:
        raise SystemExit("upstream: no examples")
    return re.sub(r"(?m)^ *///\n(?= *(?!///)\S)", "", text)


def without_fn(text, name):
    """A function with its doc comment and attributes, and the blank line before it."""
    pattern = rf"(?m)^\n?(?: +(?:///|//|#\[).*\n)* +(?:pub )?(?:const )?fn {name}\(.*(?:;\n|\{{\n(?:.*\n)*?    \}}\n)"
    text, count = re.subn(pattern, "", text, count=1)
    if not count:
        raise SystemExit(f"upstream: no fn {name}")
    return text


def chunk(text, begin):
    """The paragraph, doc comment and all, that has the line `begin`, up to the next one at the margin."""
    lines = text.split("\n")
    at = lines.index(begin)
    first = at
    while lines[first - 1].startswith(("///", "//", "#[")):
        first -= 1
    last = at + 1
    while last < len(lines) and not (lines[last - 1] == "" and lines[last] and not lines[last].startswith((" ", "}"))):
        last += 1
    return "\n".join(lines[first:last])


def wrapped(text):
    """Comment paragraphs of which a line is too long, filled again. Tables, lists and programs stay."""
    out = []
    lines = text.split("\n")
    fenced = False
    while lines:
        line = lines.pop(0)
        form = re.match(r"( *//[/!]?)(?: (?=\S)|$)", line)
        fenced ^= bool(form) and "```" in line
        if not form or fenced or not line[form.end():] or re.match(APART, line[form.end():]):
            out.append(line)
            continue
        paragraph = [line[form.end():]]
        while lines and (more := re.match(re.escape(form[1]) + rf" (?!{APART}|SAFETY)(\S.*)$", lines[0])):
            paragraph.append(more[1])
            lines.pop(0)
        if all(len(form[1]) + 1 + len(part) <= WIDTH for part in paragraph):
            out += [f"{form[1]} {part}" for part in paragraph]
        else:
            out += textwrap.wrap(" ".join(paragraph), WIDTH, initial_indent=form[1] + " ", subsequent_indent=form[1] + " ",
                                 break_long_words=False, break_on_hyphens=False)
    return "\n".join(out)


def doctest(text, item, before, after):
    """The example of `item`, made a program of its own."""
    at = text.index(item)
    begin = text.rindex("/// <!-- lines of rust/linux/sample/rust_twa_main.rs -->\n", 0, at)
    block = text[begin:at]
    head, body, tail = block.split("/// ```\n")
    lines = [f"/// {line}".rstrip() + "\n" for line in before]
    end = [f"/// {line}\n" for line in [*after, "# Ok::<(), Error>(())"]]
    return text[:begin] + "/// ```\n" + "".join(lines) + "///\n" + body + "".join(end) + "/// ```\n" + tail + text[at:]


# The files, as the last patch leaves them.

def ordering(table, locks):
    """The rows of rust/locks/mod.rs that are about `locks`, as paragraphs."""
    out, release = [], ""
    for row in re.findall(r"(?m)^//! \| (\d+) \| (.*?) \| (.*?) \| (.*?) \| .*? \|$", table):
        number, first, second, why = row
        release = release if first == "the same" else first
        if int(number) > locks:
            break
        out.append((int(number), f"{number}. Release: {release}. Acquire: {second}. Why: {why.replace('as row', 'as in')}."))
    if [number for number, _ in out] != list(range(1, locks + 1)):
        raise SystemExit("upstream: rust/locks/mod.rs: rows of the ordering pairs are missing")
    return "\n".join("\n".join(textwrap.wrap(line, WIDTH - 4, initial_indent="//! ", subsequent_indent="//!    "))
                     for _, line in out)


def algorithms(top):
    read = lambda name: (top / "rust/locks" / name).read_text()
    word = without_examples(read("word.rs"))
    # The kernel bounds its threads, and a lock that has no room for them does not compile.
    for name in [*UNUSED, "fixed", "overcrowded"]:
        word = without_fn(word, name)
    word = put(word, ("Every access has all 32 bits, but for a world's own way to write a part. Arithmetic wraps.",
                      "Every access has all 32 bits. Arithmetic wraps."),
               ("///\n/// A value and no closure, so that a world can park a waiter by the value that it awaits.\n", ""),
               ("    /// The most threads that want one lock at a time, where the world bounds them.\n    ///\n"
                "    /// A lock with room for fewer checks each thread that comes, and ends the program when its room is\n"
                "    /// full. With a bound that fits it checks nothing.\n    const MOST_CONTENDERS: u32 = u32::MAX;",
                "    /// The most threads that want one lock at a time.\n    const MOST_CONTENDERS: u32;"))
    raw = put(without_examples(read("raw.rs")),
              (" In a world with nodes the other locks do not either then, and\n    /// such a world may have undefined behaviour.", ""),
              ("its ticket, its node, or 0.", "its ticket."))
    ticket = put(without_examples(read("ticket.rs")),
                 (" In [`OneWordTwa`](super::OneWordTwa), which compares ticket and grant in\n    /// one step, nothing aliases.", ""),
                 (" A thread of a process may stall as long; one count in\n    /// 2^32 then deceives it.", ""))
    twa = put(without_examples(read("twa.rs")), ("pub const WAIT_ARRAY_SLOTS", "pub(crate) const WAIT_ARRAY_SLOTS"))
    one_word = without(without_examples(read("one_word.rs")),
                       " Where the world does not bound its threads\n/// ([`World::MOST_CONTENDERS`]), the thread that fills the"
                       " last place ends the program. Until\n/// then the next arrival finds the lock free.",
                       "/// The tickets, and so the places for threads, less the one that a free lock needs.\n"
                       "const PLACES: u32 = GRANT;\n",
                       "        if W::MOST_CONTENDERS > PLACES && ahead >= PLACES {\n            world.overcrowded();\n        }\n")
    algorithm = put((top / "rust/upstream/algorithm.rs").read_text(),
                    ("//! @ORDERING@", ordering(read("mod.rs"), 9)))
    return {"algorithm.rs": algorithm, "algorithm/word.rs": word, "algorithm/raw.rs": raw,
            "algorithm/ticket.rs": ticket, "algorithm/twa.rs": twa, "algorithm/one_word.rs": one_word}


def kernels(text):
    """A file of the module as one of the kernel crate."""
    for old, new in [("crate::locks", "super::algorithm"), ("$crate::spin::", "$crate::sync::"), ("::kernel::", "$crate::"),
                     ("kernel::bindings", "bindings"), ("use kernel::", "use crate::"), (" kernel::types", " crate::types"),
                     ("shim::handover_lockdep_init", "bindings::spin_map_init"),
                     ("shim::handover_lockdep_assert_held", "bindings::spin_map_assert_held"),
                     ("shim::handover_lockdep_", "bindings::spin_map_"),
                     ("shim::handover_contention_", "bindings::trace_contention_"),
                     ("shim::handover_preempt_", "bindings::preempt_"),
                     ("shim::handover_mmiowb_", "bindings::mmiowb_")]:
        text = text.replace(old, new)
    return text


def word(top):
    text = (top / "rust/linux/spin/word.rs").read_text()
    # The word over the kernel's own atomics. The other one is for modules of a kernel that makes calls of them.
    begin = text.index("    use super::locks;\n    pub(super) use kernel::processor")
    end = text.index("\n}\n", begin)
    cell = textwrap.dedent(text[begin:end]) + "\n"
    cell = without(cell, "use super::locks;\n", "pub(super) use kernel::processor::cpu_relax as pause;\n",
                   "use kernel::sync::atomic::{Acquire, Atomic, Full, Relaxed, Release};\n\n")
    for name in UNUSED[:3]:
        cell = without_fn(cell, name)
    # The module looks again and again. A kernel waits for a word as its architecture does, asleep on arm64.
    cell = put(cell, ("        loop {\n            let value = self.0.load(Acquire);\n            if awaited.holds(value) {\n"
                      "                return value;\n            }\n            pause();\n        }\n",
                      "        let mut value = self.0.load(Acquire);\n        while !awaited.holds(value) {\n"
                      "            // SAFETY: An `Atomic<u32>` is an `atomic_t`, and this one is there until the call's end.\n"
                      "            let other = unsafe {\n                bindings::atomic_cond_read_acquire_ne(self.0.as_ptr().cast(),"
                      " value as c_int)\n            };\n            value = other as u32;\n        }\n        value\n"))
    array = text[text.index("/// The waiting array, on a line of its own"):text.index("/// The kernel.\n")]
    array = put(array, ("One array for all locks of this module.", "One array for all locks of the kernel and its modules."))
    rest = text[text.index("/// More than one thread of a CPU can want a lock"):]
    rest = put(without(rest, chunk(rest, "const _: () = assert!(")), ("imp::pause();", "cpu_relax();"),
               ("core::ptr::from_ref(lock).cast();", "core::ptr::from_ref(lock).cast_mut().cast();"),
               ("        // SAFETY: No instruction.\n", "        // SAFETY: An empty block does nothing.\n"),
               ("pub type KernelTwa", "pub(super) type KernelTwa"), ("pub type KernelTicket", "pub(super) type KernelTicket"))
    head = "// SPDX-License-Identifier: GPL-2.0-only\n\n//! The kernel's [`Word`], and the waiting array.\n\n" \
        "use crate::locks::{self, Twa, WAIT_ARRAY_SLOTS};\n" \
        "use kernel::{ffi::c_int, processor::cpu_relax, sync::atomic::{Acquire, Atomic, Relaxed, Release}};\n\n"
    world = "/// The kernel.\npub struct Linux;\n\n"
    text = each(kernels(head + cell + "\n" + array + world + rest), ("locks::", "algorithm::"))
    return each(text, ("pub(crate)", "pub(super)"))


def backend(top):
    text = (top / "rust/linux/spin/lock.rs").read_text()
    text = without(text, "use crate::locks::{list::for_each_lock, *};\n", "    shim,\n", chunk(text, "macro_rules! new_lock {"),
                   "for_each_lock!(spin_raw);\n", "    /// Whether interrupts are off.\n    const INTERRUPTS: bool;\n\n",
                   "    const INTERRUPTS: bool = false;\n\n")
    text = put(text,
               ("use super::{\n", "use super::{\n    algorithm::*,\n"),
               (chunk(text, "macro_rules! spin_raw {"),
                "// SAFETY: The orderings that `algorithm.rs` lists make it exclude and order, and say which step of an\n"
                "// `unlock` is the last one. Its fields are words.\nunsafe impl SpinRaw for KernelTicket {}\n\n"
                "// SAFETY: As above.\nunsafe impl SpinRaw for KernelTwa {}\n\n"
                "const _: () = assert!(<KernelTicket as RawLock<Linux>>::EXCLUDES);\n"
                "const _: () = assert!(<KernelTwa as RawLock<Linux>>::EXCLUDES);\n\n"),
               (chunk(text, "const LINUX: Linux = unsafe { Linux::new() };"),
                "/// The world of the locks below.\nconst LINUX: Linux = Linux;\n\n"),
               ("\n///\n/// The kernel's contracts of `Guard::new` and `Backend::unlock` do not ask for what `lock` returned. So safe code"
                " makes none\n/// of these.", ""),
               (chunk(text, "impl Token {"), ""),
               (" `rust/linux/sample` is the whole module, also with one in a `static`.", ""))
    # The module's tests begin near the wrap. A lock of the kernel begins at 0.
    made = chunk(text, "impl<R: SpinRaw, O: Off> SpinBackend<R, O> {")
    body = re.search(r"(?s)_key: \*mut kernel::bindings::lock_class_key,\n    \) \{\n(.*?)    \}\n\}\n", made)[1]
    init = "        // SAFETY: By this function's contract.\n        unsafe { Self::init_from(ptr, 0, name, key) };\n"
    text = put(without(text, made), (init, put(body, ("first", "0"))),
               ("        name: *const c_char,\n        key: *mut kernel", "        _name: *const c_char,\n        _key: *mut kernel"))
    text = kernels(text)
    text = doctest(text, "pub type TicketLock<T>", ["use kernel::sync::new_ticket_lock;"], ["assert_eq!(*count.lock(), 2);"])
    text = doctest(text, "pub type TwaLock<T>", ["use kernel::sync::{new_twa_lock, TwaLock};"],
                   ["assert!(refused);", "assert!(queue.jobs.try_lock().is_some());"])
    return text


def irq(top):
    text = (top / "rust/linux/spin/irq.rs").read_text()
    text = without(text, chunk(text, "macro_rules! new_lock_irq {"), "    const INTERRUPTS: bool = true;\n\n", "    shim,\n",
                   chunk(text, "pub trait LockWith<T: ?Sized, R: SpinRaw> {"))
    text = put(text,
               ("    lock::{Off,", "    backend::{Off,"),
               ("unsafe { shim::handover_interrupts_disable() };",
                "unsafe { bindings::local_interrupt_disable() };\n        // SAFETY: As above.\n"
                "        unsafe { bindings::preempt_disable() };"),
               ("unsafe { shim::handover_interrupts_enable() };",
                "unsafe { bindings::local_interrupt_enable() };\n        // A task that became due meanwhile runs here, with"
                " interrupts on.\n        // SAFETY: As above.\n        unsafe { bindings::preempt_enable() };"),
               ("impl<T: ?Sized, R: SpinRaw> LockWith<T, R> for Lock<", "impl<T: ?Sized, R: SpinRaw> Lock<"),
               ("    #[inline]\n    fn lock_with", "    /// Acquires the lock without touching interrupts, which are off.\n"
                "    ///\n    /// The guard is gone before they can be on again, as it borrows the caller's proof.\n"
                "    #[inline]\n    pub fn lock_with"),
               ("    #[inline]\n    fn try_lock_with", "    /// Acquires it if it is free and no thread waits.\n"
                "    #[must_use = \"if unused, the lock will be immediately unlocked\"]\n    #[inline]\n    pub fn try_lock_with"))
    text = kernels(each(text, ("LockWith::lock_with", "TicketLockIrq::lock_with")))
    return doctest(text, "pub type TicketLockIrq<T>",
                   ["use kernel::{interrupt::local_interrupt_disable, sync::new_ticket_lock_irq};"],
                   ["drop(interrupts_off);", "assert_eq!(*ticks.lock(), 2);"])


def changed(linux, name, *pairs):
    return name, put((linux / name).read_text(), *pairs)


def edits(top, linux):
    """The kernel's own files that change."""
    helper = lambda before, name: (f'#include "{before}.c"\n', f'#include "{before}.c"\n#include "{name}.c"\n')
    owned = lambda *names: "".join(f"F:\trust/helpers/{name}.c\n" for name in names)
    arms = "".join(f"    (backend {kind}) => {{\n        $crate::sync::lock::fifo::{kind.replace('Lock', '')}Backend\n    }};\n"
                   for kind in ["TicketLock", "TwaLock", "OneWordTwaLock", "TicketLockIrq", "TwaLockIrq", "OneWordTwaLockIrq"])
    uses = re.findall(r"(?ms)^pub use self::(?:backend|irq|one_word)::\{\n(.*?)^\};", (top / "rust/upstream/fifo.rs").read_text())
    names = sorted((name for name in re.findall(r"\w+", " ".join(uses)) if re.search(r"^new_|Lock(Irq)?(Guard)?$", name)),
                   key=lambda name: (not name.startswith("new_"), name))
    exported = "".join(f"    {name},\n" for name in names[:-1]) + f"    {names[-1]}, //\n"
    last = "        $crate::sync::lock::spinlock::SpinLockIrqBackend\n    };\n"
    use = "pub use lock::global::"
    str_test = "config RUST_STR_KUNIT_TEST\n"
    fifo_test = "".join(f"\t{line}\n".replace("\t\n", "\n") for line in [
        'bool "KUnit tests for Rust FIFO spinlocks" if !KUNIT_ALL_TESTS', "default KUNIT_ALL_TESTS", "help",
        "  This option enables KUnit tests for TicketLock, TwaLock and their", "  variants. These are only for development and testing, not for",
        "  regular kernel use cases.", "", "  If unsure, say N."])
    owner = "    /// It must only be called by the current owner of the lock.\n"
    guard = "    /// The caller must ensure that it owns the lock.\n"
    asked = [(owner, "    /// It must only be called by the current owner of the lock. `guard_state` must be what the\n"
              "    /// owner's [`Backend::lock`] (or variant) returned, and is given back once until it relocks.\n"),
             (guard, "    /// The caller must ensure that it owns the lock, that `state` is what its [`Backend::lock`] (or\n"
              "    /// variant) returned, and that no other guard of this ownership is there.\n")]
    return dict([
        changed(linux, "MAINTAINERS", (owned("mutex", "spinlock"), owned("atomic_cond", "contention", "lockdep", "mmiowb", "mutex", "spinlock"))),
        changed(linux, "rust/kernel/Kconfig.test", (str_test, f"config RUST_FIFO_LOCK_KUNIT_TEST\n{fifo_test}\n{str_test}")),
        changed(linux, "rust/helpers/helpers.c", helper("atomic", "atomic_cond"), helper("completion", "contention"), helper("list", "lockdep"), helper("mm", "mmiowb"),
                helper("poll", "preempt")),
        changed(linux, "rust/kernel/sync/lock.rs", ("pub mod mutex;\n", "pub mod fifo;\npub mod mutex;\n"), *asked),
        changed(linux, "rust/kernel/sync/lock/global.rs", (last, last + arms)),
        changed(linux, "rust/kernel/sync.rs", (use, f"pub use lock::fifo::{{\n{exported}}};\n{use}")),
    ])


def files(top, linux):
    """Every file of the series by its name in the kernel, as the last patch leaves it."""
    ours = {f"{FIFO}/{name}": text for name, text in algorithms(top).items()}
    ours |= {f"{FIFO}/word.rs": word(top), f"{FIFO}/backend.rs": backend(top), f"{FIFO}/irq.rs": irq(top),
             f"{FIFO}/one_word.rs": (top / "rust/upstream/one_word.rs").read_text(),
             f"{FIFO}.rs": each((top / "rust/upstream/fifo.rs").read_text(), ("use kernel::", "use crate::"))}
    helpers = {f"rust/helpers/{path.name}": path.read_text() for path in sorted((top / "rust/upstream").glob("*.c"))}
    return {name: formatted(linux, wrapped(text)) for name, text in ours.items()} | helpers | edits(top, linux)


def formatted(linux, text):
    return subprocess.run(["rustfmt", "--config-path", linux / ".rustfmt.toml"], input=text, capture_output=True, text=True,
                          check=True).stdout


def until(text, later, before):
    """A file before the patches that bring the names `later`. The lines of comments and lists that have them go, and
    other paragraphs that do. What the kernel had `before` stays."""
    paragraphs, left_open = [], 0
    for paragraph in text.split("\n\n"):
        # With an item of a numbered list goes the rest of it.
        lines = re.split(r"\n(?!//!    )", paragraph)
        named = [line for line in lines if later.search(line) and f"\n{line}\n" not in before]
        if all(re.match(r"//[!/]|(pub(\(super\))? )?(mod|use) .*;$| {4}\w+,( //)?$", line) for line in named):
            for before_it, line in zip(["", *lines], lines):
                # A comment's line goes if it is whole sentences.
                if line in named and line.startswith("//") and not (
                        line.endswith((".", "|")) and (not before_it.startswith("//") or before_it.endswith((".", "|", "///", "//!")))):
                    raise SystemExit(f"upstream: part of a sentence: {line!r}")
            paragraphs.append("\n".join(line for line in lines if line not in named))
        else:
            # A brace that closes what stays must stay, too.
            left_open += paragraph.count("{") - paragraph.count("}")
            if left_open < 0:
                paragraphs[-1] += "\n}" * -left_open + "\n"
                left_open = 0
    # The kernel's way to keep rustfmt from filling the lines of a list.
    return re.sub(r"(?m)^( {4}\w+),\n\};", r"\1, //\n};", "\n\n".join(paragraphs).rstrip("\n") + "\n")


def brings(patch, name):
    return any(re.fullmatch(pattern, name) for pattern in patch["files"])


def git(at, *words):
    subprocess.run(["git", "-C", at, "-c", "core.autocrlf=false", *words], check=True, stdout=subprocess.DEVNULL)


def series(top, linux, out):
    """Writes the patches to `out`, made in a repository that has the kernel's files of before."""
    told = tomllib.loads((top / "rust/upstream/series.toml").read_text())
    last, at = files(top, linux), pathlib.Path(tempfile.mkdtemp())
    git(at, "init", "--quiet", "--initial-branch=fifo")
    for name in last:
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        if (linux / name).exists():
            (at / name).write_text((linux / name).read_text())
    git(at, "add", ".")
    git(at, "commit", "--quiet", "--message=The kernel's own.")
    patches = told["patch"]
    for number, patch in enumerate(patches):
        for name in (name for name in last if brings(patch, name)):
            (at / name).parent.mkdir(parents=True, exist_ok=True)
            # What no later patch brings is one that matches nothing.
            later = "|".join(after["names"] for after in patches[number + 1:] if brings(after, name)) or "(?!)"
            before = (linux / name).read_text() if (linux / name).exists() else ""
            (at / name).write_text(until(last[name], re.compile(later), before))
        git(at, "add", ".")
        git(at, "commit", "--quiet", "--signoff", f"--message={patch['subject']}\n\n{patch['body']}")
    for name, text in last.items():
        if (at / name).read_text() != text:
            raise SystemExit(f"upstream: no patch brings {name} as it is in the end")
    version = ".".join(re.search(rf"(?m)^{part} = (\d+)$", (linux / "Makefile").read_text())[1]
                       for part in ["VERSION", "PATCHLEVEL", "SUBLEVEL"])
    git(at, "config", "branch.fifo.description", f"{told['subject']}\n\n{told['body']}\nThe series is against {version}.\n")
    git(at, "format-patch", "--quiet", "--rfc", "--cover-letter", "--cover-from-description=subject", f"--output-directory={out}",
        "--no-signature", f"-{len(patches)}")


if __name__ == "__main__":
    series(*(pathlib.Path(word).resolve() for word in sys.argv[1:]))
