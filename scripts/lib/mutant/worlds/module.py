# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""kunit, torture, locktorture, job, compile, disasm, lockdep, sanitized: the module with a bug in it, built for one of our kernels.

    torture LOCKS CHECK    that check alone finds it, the others off (tests/guest/mutant.sh)
    locktorture LOCK       the kernel's own scripts find it in a run of the kernel's locktorture on that lock
    kunit CASE             the case fails; `kunit splat`: the guest's console looks bad, as `shows` says
    job KERNEL/JOB VERDICT a job of tests/guest, asked for that verdict alone, says 'not ok VERDICT', as `shows` says
    job KERNEL/JOB dies [VERDICT]
                           the guest does not come to its job's end, as `shows` says of its console
    sanitized KERNEL/JOB VERDICT
                           the same on a kernel that `make test` has no time to build
    compile module         it does not compile for `kernel`, as `shows` says of the log
    disasm LOCK            the path of the lock shows, for `kernel`, what `shows` says
    sample VERDICT         the sample module, built from copies of two folders, is not built or says 'not ok VERDICT', as `shows` says
    lockdep CASE           lockdep reports every word of `shows` (`silent`: none of them), though the case ran
    lockdep leak           kmemleak finds `least` objects
"""

import re
import shlex

from ..engine import World
from ..shell import read

NAMES = ("kunit", "torture", "job", "compile", "sample", "disasm", "lockdep")
SOURCES = ("Kbuild", "rust", "scripts", "qemu")
AT = "build/mutants-module"
CHECKS = ("owner", "counter", "order", "progress")
REALTIME = ("rt", "realtime")

# The exits of tests/guest/mutant.sh that say that a bug was not found as it must be.
WRONG = {
    3: "{check} alone did not find it",
    4: "the module could be removed while a lock hung",
    5: "an experiment could be started while a lock hung",
    8: "a run of which a writer hangs has no times",
    9: "the row of a run has another number of hanging writers than the log, or failures of its counter",
}


class Module(World):
    title, names = "module", NAMES
    reads = (*SOURCES, "tests/guest", "tests/suites")

    def lanes(self):
        """A guest also sleeps."""
        return super().lanes() + 1

    def order(self, bugs):
        """The longest guests first: kmemleak's, jobs, and those that boot twice."""
        return sorted(bugs, key=lambda bug: not (bug.option("starves") or any(
            catch.world == "job" or str(catch) == "lockdep leak" for catch in bug.caught)))

    def controls(self, bugs):
        """The torture job says 'not found' where no bug is planted."""
        if not any(catch.world == "torture" for bug in bugs for catch in bug.caught):
            return
        module = self.module("test", ".", f"{AT}/control.build")
        if module is None:
            yield self.verdict(False, "torture control", f"the module does not compile; see {AT}/control.build")
            return
        rc = self.torture_job(module, f"{AT}/control", 6, "ticket,twa", 3, CHECKS, False)
        why = "nothing is found where nothing is planted" if rc == 3 else \
            f"exit {rc} where 3, not found, was due; see {AT}/control.log"
        yield self.verdict(rc == 3, "torture control", why)

    def module(self, kernel, tree, log):
        """handover.ko's folder, as the toolbox sees it, or None."""
        rc, said = self.shell.ask(log, "scripts/build/module-for", kernel, tree)
        return None if rc else said.strip()

    def hunt(self, lane, bug, catches):
        at = f"{AT}/{bug.stem}"
        tree = f"{at}.tree"
        self.engine.copy_with(bug, tree, *SOURCES)
        kunit = [catch for catch in catches if catch.world == "kunit"]
        if kunit:
            yield self.kunit(bug, kunit, tree, f"{at}.kunit")
        for number, catch in enumerate(catches):
            if catch.world != "kunit":
                yield getattr(self, catch.world)(bug, catch, tree, f"{at}.{catch.world}-{number}")
        self.shell.discard(tree)

    def built(self, bug, kernel, tree, at):
        """(module, None), or (None, the verdict)."""
        module = self.module(kernel, tree, f"{at}.build")
        return (module, None) if module else (None, self.uncompiled(bug, f"{at}.build"))

    # --- kunit

    def kunit(self, bug, catches, tree, at):
        kernel = bug.option("kernel", "test")
        module, wrong = self.built(bug, kernel, tree, at)
        if wrong:
            return wrong
        cases = bug.option("cases") or catches[0].test
        rc, said = self.shell.ask(f"{at}.log", "scripts/guest/kunit", kernel, module, at, cases)
        missing = ["every case passed"] if rc == 0 else []
        for catch in catches:
            line = f"a splat: .*{bug.option('shows')}" if catch.test == "splat" else re.escape(catch.test)
            if not re.search(f"^not ok kunit {kernel}: {line}:?", said, re.MULTILINE):
                missing.append(f"{catch} did not fail")
        if missing:
            return self.verdict(False, bug.full, "; ".join(missing))
        return self.verdict(True, bug.full, f"caught by {', '.join(map(str, catches))}")

    # --- torture

    def torture_job(self, module, out, cpus, locks, runs, checks, hangs, until="", append="", words="", kernel="test"):
        """The job's exit, or 99 for a splat."""
        self.shell.discard(out)
        (self.top / out).mkdir(parents=True)
        rc = self.shell.run(
            f"{out}.log", "scripts/guest/boot", "--kernel", kernel, "--module", module, "--smp", str(cpus), "--limit", "400",
            "--out", out, *(["--until", until] if until else []), *(["--append", append] if append else []),
            "tests/guest/mutant.sh", locks, str(runs), words.replace(" ", "+") or "-", *checks)
        # The console of a hung lock may well look bad: the verdict is the job's.
        if rc == 99 and hangs:
            exits = re.findall(r"^@@ exit (\d+)", read(self.top / out / "stream"), re.MULTILINE)
            return int(exits[-1]) if exits else 1
        return rc

    def torture(self, bug, catch, tree, at):
        locks, _, check = catch.test.partition(" ")
        if check not in CHECKS:
            return self.verdict(False, bug.full, f"{catch}: the checks are {', '.join(CHECKS)}")
        kernel = bug.option("kernel", "test")
        module, wrong = self.built(bug, kernel, tree, at)
        if wrong:
            return wrong
        hangs = bug.option("hangs", False)
        said = f"{locks}: writer [0-9]* has acquired nothing for 3 s"
        words = bug.option("words", "")
        if hangs and kernel in REALTIME:
            # What the job writes needs threads that a CPU which hangs has not: its last word is in the kernel's log.
            last = "mutant: the lock hangs, and the module stays"
            self.torture_job(module, at, 6, locks, 9, [check], hangs, until=last, words=words, kernel=kernel)
            console = read(self.top / at / "console.log")
            missing = [line for line in (said, "writers hang and cannot be stopped", last) if not re.search(line, console)]
            why = f"caught by {catch} on the {kernel} kernel" if not missing else f"the log does not have: {missing[0]}"
            return self.verdict(not missing, bug.full, why)
        # Two CPUs more than writers, so that the watchdog runs when all of them hang.
        rc = self.torture_job(module, at, 6, locks, 9, [check], hangs, words=words, kernel=kernel)
        console = read(self.top / at / "console.log")
        # Those that hang must be known to: then the module stays, and nothing starts.
        if rc == 0 and hangs:
            why = "found, but nobody said that the lock hangs"
        elif rc == 10 and not hangs:
            why = "found, but the lock hangs, which the catalogue does not say"
        elif rc == 10 and not re.search(said, console):
            why = "the watchdog did not speak"
        elif rc in WRONG:
            why = WRONG[rc].format(check=check)
        elif rc == 99:
            why = f"a splat; see {at}/console.log"
        elif rc not in (0, 10):
            why = f"exit {rc}; see {at}.log"
        elif bug.option("starves"):
            # As many writers as CPUs: no thread can run, the console's own neither (8250's since 7.x), and where that
            # one was halted in a line nobody else may print. The early console prints for its caller, the watchdog.
            if rc != 10:
                return self.verdict(False, bug.full, "found, but the lock does not hang, so no CPU starves")
            self.torture_job(module, f"{at}-starved", 4, locks, 9, [check], hangs, until=said,
                             append="earlycon=uart8250,io,0x3f8 keep_bootcon", kernel=kernel)
            if not re.search(said, read(self.top / f"{at}-starved" / "console.log")):
                return self.verdict(False, bug.full, "the watchdog was silent when every CPU hung")
            return self.verdict(True, bug.full, f"caught by {catch} alone, also when every CPU hung")
        else:
            return self.verdict(True, bug.full, f"caught by {catch} alone")
        return self.verdict(False, bug.full, why)

    # --- any job of tests/guest

    def job(self, bug, catch, tree, at):
        where, _, name = catch.test.partition(" ")
        kernel, _, job = where.partition("/")
        dies = name == "dies" or name.startswith("dies ")
        asked = name.removeprefix("dies").strip() if dies else name
        # As tests/suites/guest boots it; a pattern, for the job's words are split at blanks.
        options = shlex.split(" ".join(re.findall(r"^# boot: (.*)$", read(self.top / f"tests/guest/{job}.sh"), re.MULTILINE)))
        only = [asked.replace(" ", "?")] if asked else []
        shows = bug.option("shows", "")
        module, wrong = self.built(bug, kernel, tree, at)
        if wrong:
            return wrong
        self.shell.discard(at)
        (self.top / at).mkdir(parents=True)
        rc = self.shell.run(f"{at}.log", "scripts/guest/boot", "--kernel", kernel, "--module", module, "--limit", "600",
                            "--out", at, *options, f"tests/guest/{job}.sh", *only)
        stream, console = (read(self.top / at / name).replace("\r", "") for name in ("stream", "console.log"))
        if dies:
            ended = re.search(r"^@@ exit ", stream, re.MULTILINE)
            if rc == 0 or ended or not shows or not re.search(shows, console):
                return self.verdict(False, bug.full, f"{catch}: exit {rc}, {'an end' if ended else 'no end'}; see {at}")
        else:
            lines = re.findall(f"^not ok {re.escape(name)}(?::.*)?$", stream, re.MULTILINE)
            if not lines or not re.search(shows, lines[0]):
                return self.verdict(False, bug.full, f"{catch}: exit {rc}, no such verdict; see {at}/stream")
        return self.verdict(True, bug.full, f"caught by {catch}")

    # --- what does not compile

    def compile(self, bug, catch, tree, at):
        kernel, shows = bug.option("kernel", "test"), bug.option("shows")
        if self.module(kernel, tree, f"{at}.build") is not None:
            return self.verdict(False, bug.full, f"{catch}: it compiles")
        if not shows or not re.search(shows, read(self.top / f"{at}.build")):
            return self.verdict(False, bug.full, f"{catch}: it fails otherwise than '{shows}'; see {at}.build")
        return self.verdict(True, bug.full, f"caught by {catch}")

    # --- the sample module

    def sample(self, bug, catch, tree, at):
        rc, said = self.shell.ask(f"{at}.log", "tests/suites/sample", tree)
        lines = re.findall(f"^not ok sample: {re.escape(catch.test)}(?::.*)?$", said, re.MULTILINE)
        if not lines or not re.search(bug.option("shows", ""), lines[0]):
            return self.verdict(False, bug.full, f"{catch}: exit {rc}, no such verdict; see {at}.log")
        return self.verdict(True, bug.full, f"caught by {catch}")

    # --- disassembly

    def disasm(self, bug, catch, tree, at):
        kernel, shows = bug.option("kernel", ""), bug.option("shows", "")
        if not kernel or not shows:
            return self.verdict(False, bug.full, f"{catch}: kernel and shows are needed")
        module, wrong = self.built(bug, kernel, tree, at)
        if wrong:
            return wrong
        rc, said = self.shell.ask(f"{at}.log", "tests/suites/disasm", "--path", module, catch.test, f"{at}.s")
        if rc or not re.search(shows, said):
            return self.verdict(False, bug.full, f"{catch}: not found: {' '.join(said.split())}")
        return self.verdict(True, bug.full, f"caught by {catch} on the {kernel} kernel")

    # --- lockdep

    def lockdep(self, bug, catch, tree, at):
        module, wrong = self.built(bug, "lockdep", tree, at)
        if wrong:
            return wrong
        if catch.test == "leak":
            return self.leak(bug, catch, module, at)
        shows = bug.option("shows", {})
        words = shows.get(catch.test, []) if isinstance(shows, dict) else [shows]
        if not words:
            return self.verdict(False, bug.full, f"{catch}: it does not say what is reported")
        self.shell.discard(at)
        (self.top / at).mkdir(parents=True)
        rc = self.shell.run(f"{at}.log", "scripts/guest/boot", "--kernel", "lockdep", "--module", module, "--out", at, "--append",
                            f"kunit.autorun=1 kunit.filter_glob=handover_planted.{catch.test}", "tests/guest/kunit.sh")
        log = read(self.top / at / "log")
        if f"ok 1 {catch.test}" not in log:
            return self.verdict(False, bug.full, f"{catch} did not run (exit {rc}); see {at}.log")
        silent = bug.option("silent", False)
        wrong = [word for word in words if (word in log) == silent]
        if wrong:
            return self.verdict(False, bug.full, f"{catch}: {'said all the same' if silent else 'not said'}: {'; '.join(wrong)}")
        return self.verdict(True, bug.full, f"{catch} is {'missed, as it must be' if silent else 'reported'}")

    def leak(self, bug, catch, module, at):
        rc, said = self.shell.ask(f"{at}.log", "tests/suites/lockdep", "--left", module, at)
        found = re.search(r"finds nothing: (\d+) objects: unref", said)
        least = bug.option("least", 1)
        if not found or int(found[1]) < least:
            return self.verdict(False, bug.full, f"{catch}: not {least} objects; the guest says: {said.strip()} (exit {rc})")
        return self.verdict(True, bug.full, f"caught by {catch}: {found[1]} objects")


class Sanitizers(Module):
    title, names = "sanitizers", ("sanitized",)
    sanitized = Module.job


class Locktorture(Module):
    """The kernel's locktorture."""
    title, names = "locktorture", ("locktorture",)

    def lanes(self):
        """The kernel's watchdogs see a stall too in a guest that waits long for its CPUs."""
        return 1

    def order(self, bugs):
        return bugs

    def controls(self, bugs):
        """A lock without a bug passes."""
        module, at = self.module("test", ".", f"{AT}/locktorture-control.build"), f"{AT}/locktorture-control"
        rc, _ = self.shell.ask(f"{at}.log", "tests/suites/locktorture", "--planted", module, at, "twa") if module else (0, "")
        passes = rc != 0 and "locktorture: twa: passes" in read(self.top / f"{at}.log")
        yield self.verdict(passes, "locktorture control",
                           "nothing is found where nothing is planted" if passes else f"exit {rc}, and no word of passing; see {at}.log")

    def locktorture(self, bug, catch, tree, at):
        module, wrong = self.built(bug, "test", tree, at)
        if wrong:
            return wrong
        # What only chance finds may need some runs.
        for _ in range(tries := bug.option("tries", 1)):
            rc, said = self.shell.ask(f"{at}.log", "tests/suites/locktorture", "--planted", module, at, catch.test)
            found = re.search("^found: (.+)$", said, re.MULTILINE)
            if found or f"locktorture: {catch.test}: passes" not in read(self.top / f"{at}.log"):
                break
        if rc or not found:
            times = f" {tries} times" if tries > 1 else ""
            return self.verdict(False, bug.full, f"{catch}: exit {rc}, it passes{times}; see {at}.log")
        return self.verdict(True, bug.full, f"caught by {catch}: {found[1][:200]}")
