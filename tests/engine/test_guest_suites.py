# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""tests/suites/{guest,locktorture}: what they make of what a guest said. Guests say and do what a test asks."""

import re
import shutil

from test_guests import TOP, Guests


class Suites(Guests):
    def suite(self, *names):
        """These files are there as they are, and a step does not look once a second whether it is over."""
        for name in names:
            (self.top / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / name, self.top / name)
        env = (TOP / "scripts/lib/env.sh").read_text()
        (self.top / "scripts/lib/env.sh").write_text(env + 'step() { local log=$2; shift 2; mkdir -p "$(dirname "$log")"; "$@" >"$log" 2>&1; }\n')


class Verdicts(Suites):
    """scripts/lib/verdict.sh: what a suite says of what it found, and of a door that refuses its knobs."""

    def setUp(self):
        super().setUp()
        self.suite("scripts/lib/verdict.sh")

    def sourced(self, text):
        return self.ran("bash", "-c", f"set -euo pipefail; suite=s: out={self.out}; . scripts/lib/verdict.sh; {text}")

    def test_a_verdict_is_a_line(self):
        self.assertEqual(self.sourced("failed=0; verdict a; verdict 'b c' ''; echo $failed"), (0, "ok s: a\nok s: b c\n0\n"))
        self.assertEqual(self.sourced("failed=0; verdict a $'why\\nand why'; verdict b; echo $failed"), (0, "not ok s: a: why; and why\nok s: b\n1\n"))

    def test_a_refusal_is_one_line_and_nothing_else(self):
        line = "handover: error: door: KNOB=7: allowed: 1 to 3"
        for door, due in ((f"echo '{line}' >&2; exit 1", ""), (f"[ $KNOB = 7 ]; echo '{line}' >&2; exit 1", ""), (f"echo '{line}' >&2; exit 2", "exit 2\n"),
                          (f"echo '{line}' >&2", "exit 0\n"), (f"mkdir -p $RUN_OUT; echo '{line}' >&2; exit 1", "exit 1\n"),
                          (f"echo working; echo '{line}' >&2; exit 1", f"it said: working\n{line}\n"),
                          ("echo 'handover: error: door: KNOB=7: allowed: 1 to 4' >&2; exit 1", "it said: handover: error: door: KNOB=7: allowed: 1 to 4\n"),
                          ("exit 1", "it said: \n")):
            self.stub("scripts/door", door)
            shutil.rmtree(self.top / self.out / "refused", ignore_errors=True)
            self.assertEqual(self.sourced("refused door KNOB=7 '1 to 3'"), (0, due), door)


class Job(Suites):
    """tests/suites/guest: a job on a kernel. What boots is `guest`: it finds $out, and its exit is the job's."""

    out = "build/test/stock-words"

    def job(self, guest, recount="exit 0", tells="", **env):
        self.suite("tests/suites/guest", "scripts/guest/told")
        (self.top / "tests/guest").mkdir(exist_ok=True)
        (self.top / "tests/guest/words.sh").write_text("# boot: --append 'one two'\n" + tells)
        self.stub("scripts/lib/python", f"echo \"$*\" >build/recounted\n{recount}")
        self.stub("scripts/guest/boot", f"printf '%s\\n' \"$@\" >build/asked\nout={self.out}\n{guest}")
        code, said = self.ran("tests/suites/guest", "stock/words", **env)
        return code, [line for line in said.splitlines() if re.match("(not )?ok ", line)]

    SAYS = "printf 'ok it works\\n@@ verdicts 1\\n' >$out/stream; : >$out/console.log; "
    NUMBERS = "stock: words: the numbers are what their writers make them"

    def test_verdicts_and_numbers(self):
        tells = self.SAYS + "echo rows >$out/results; echo theirs >$out/writers"
        self.assertEqual(self.job(tells), (0, ["ok stock: it works", f"ok {self.NUMBERS}"]))
        self.assertEqual((self.top / "build/recounted").read_text(), f"scripts/report/recount {self.out}/results {self.out}/writers\n")
        self.assertEqual(self.job(tells, "echo row 1: why; exit 1"), (1, ["ok stock: it works", f"not ok {self.NUMBERS}: row 1: why"]))
        self.assertEqual(self.job(self.SAYS), (0, ["ok stock: it works"]))
        words = (self.top / "build/asked").read_text().splitlines()
        self.assertEqual(words[words.index("--append") + 1], "one two")
        self.assertEqual(words[-1], "tests/guest/words.sh")

    def test_a_module_that_does_not_compile_is_told(self):
        self.job(self.SAYS)
        self.stub("scripts/build/module-for", "exit 1")
        code, said = self.ran("tests/suites/guest", "stock/words", "stock/words")
        self.assertEqual((code, said.splitlines()), (1, 2 * ["not ok stock: the module does not compile"]))

    def test_what_fails(self):
        code, lines = self.job(self.SAYS.replace("ok it", "not ok it") + "exit 1")
        self.assertEqual((code, lines), (1, ["not ok stock: it works"]))
        code, lines = self.job(self.SAYS.replace("verdicts 1", "verdicts 2"))
        self.assertEqual((code, lines), (1, ["ok stock: it works", "not ok stock: words: it ended before its last verdict"]))

    def test_numbers_that_are_not_told_are_missed(self):
        """Of a job that tells some, unless a part of its verdicts is asked for."""
        told = "tell_packed results /tmp/results\n"
        code, lines = self.job(self.SAYS, "echo no file; exit 1", told)
        self.assertEqual((code, lines), (1, ["ok stock: it works", f"not ok {self.NUMBERS}: no file"]))
        self.assertEqual(self.job(self.SAYS, "exit 1", told, ONLY="it works"), (0, ["ok stock: it works"]))

    def test_rows_of_an_earlier_guest_are_not_this_ones(self):
        for name in ("results", "writers"):
            self.write(name, "rows\n")
        code, lines = self.job(": >$out/stream >$out/console.log; exit 98")
        self.assertEqual((code, [line for line in lines if "numbers" in line]), (1, []))


class Locktorture(Suites):
    """tests/suites/locktorture: what it makes of a console and of what the kernel's own scripts say."""

    out = "build/test/locktorture-ticket"
    # All that is done to a lock, with a second before and after.
    DONE = [
        "handover_ticket-torture:--- Start of test: acq_writer_lim=5000 bind_readers=0-3 call_rcu_chains=2 cs_steps=-1 long_hold=3 ncs_steps=0 "
        "nested_locks=8 nreaders_stress=0 rt_boost=2 rt_boost_factor=50 shuffle_interval=1 shutdown_secs=0 stutter=5 verbose=1",
        "torture_stutter task started", "torture_shuffle task started", "smpboot: CPU 2 is now offline",
        "smpboot: Booting Node 0 Processor 2 APIC 0x2", "torture_spin_lock_write_delay: delay = 3 jiffies", "@@ seen: boosted paused shuffled.",
        "handover_ticket-torture:--- End of test: SUCCESS: acq_writer_lim=5000"]

    def lines(self, lock, inner, took=15.25):
        return [f"[    2.000000] @@ lock {lock}", *(f"[    3.000000] {line}" for line in inner), f"[   {2 + took:.6f}] @@ over {lock}"]

    def tortured(self, done, cpus=2, count="3389626", judge="", took=15.25, nested="0xff of ticket"):
        """(exit, its lines, the rows of locktorture.csv)."""
        self.suite("tests/suites/locktorture", "scripts/guest/told", "scripts/lib/verdict.sh")
        self.stub("bin/nproc", f"echo {cpus}")
        self.stub("scripts/build/locktorture", "echo $PWD/build/tree")
        self.stub("build/tree/judge/parse-console.sh", f"case $2 in *busted) echo FAILURE ;; *) :; {judge} ;; esac")
        self.stub("build/tree/judge/kvm-recheck-lock.sh", f"echo 'it ------- {count} acquisitions (per s)'")
        console = [*self.lines("handover_ticket", done, took), *self.lines("lock_busted", ["--- End of test: FAILURE"]), "quiet",
                   f"[   40.000000] handover: locktorture took nested locks {nested}"]
        (self.top / "console").write_text("\r\n".join(console) + "\r\n")
        self.stub("scripts/guest/boot", f"""
            printf 'ok handover_ticket was tortured\\nok all modules can go\\r\\n@@ perturbations stutter=5 all\\n@@ verdicts 2\\n' >{self.out}/stream
            cp console {self.out}/console.log""")
        code, said = self.ran("tests/suites/locktorture", "15", "ticket")
        return code, said.splitlines(), (self.top / self.out / "locktorture.csv").read_text().splitlines()

    def test_a_lock_that_passes(self):
        code, said, rows = self.tortured(self.DONE)
        self.assertEqual((code, rows), (0, ["lock,seconds,perturbations,acquisitions,verdict", "handover_ticket,15,stutter=5 all,3389626,passes",
                                            "lock_busted,15,stutter=5 all,3389626,fails"]), said)
        for verdict in ("handover_ticket passes", "lock_busted fails", "the console between the runs"):
            self.assertIn(f"ok locktorture: {verdict}", said)

    def test_each_lock_is_asked_for(self):
        """Without words all of the list and those for interrupts, which the kernel has not itself. A control takes 15 s at most."""
        self.tortured(self.DONE)
        listed = re.findall(r"^ +([a-z0-9_]+): .* = (usual|more|control|irq), ", "".join((TOP / name).read_text() for name in (
            "rust/locks/list.rs", "rust/linux/harness/registry.rs")), re.MULTILINE)
        own = re.findall(r"^ +([a-z0-9_]+): .* = (?:usual|more|control|irq), ", (TOP / "rust/locks/list.rs").read_text(), re.MULTILINE)
        everything = own + [name for name, kind in listed if kind == "irq" and not name.startswith("raw_")]
        self.assertGreater(len(everything), len(own))
        for words, locks, seconds in (((), everything, 15), (("7",), everything, 7), (("600", "twa", "mcs"), ["twa", "mcs"], 600), (("15", "twa"), ["twa"], 15)):
            out = "build/test/locktorture" + "".join(f"-{word}" for word in words[1:2])
            self.stub("scripts/guest/boot", f"printf '%s\\n' \"$@\" >build/asked; : >{out}/console.log; : >{out}/stream; exit 98")
            self.ran("tests/suites/locktorture", *words)
            asked = (self.top / "build/asked").read_text().splitlines()
            after = {word: asked[at + 1] for at, word in enumerate(asked[:-1])}
            self.assertEqual(asked[asked.index("tests/guest/locktorture.sh") + 1:],
                             [f"handover_{lock}:{min(seconds, 15) if lock == 'busted' else seconds}" for lock in locks] + [f"lock_busted:{min(seconds, 15)}"])
            self.assertEqual([after[word] for word in ("--kernel", "--tree", "--out")], ["test", f"{self.top}/build/tree", out])
            # Each has a minute more, and what is looked at besides has four.
            self.assertGreaterEqual(int(after["--limit"]), (len(locks) + 1) * (seconds + 60) + 240)
            self.assertNotIn("--until", asked)

    def test_each_thing_must_have_been_done(self):
        for at in range(len(self.DONE)):
            code, said, rows = self.tortured(self.DONE[:at] + self.DONE[at + 1:])
            self.assertEqual((code, rows[1].split(",")[-1]), (1, "not: passes"), self.DONE[at])
        for word, other in (("stutter=5", "stutter=1"), ("acq_writer_lim=5000 bind", "acq_writer_lim=0 bind"), ("call_rcu_chains=2", "call_rcu_chains=0"),
                            ("long_hold=3", "long_hold=0"), ("nested_locks=8", "nested_locks=0"), ("rt_boost=2", "rt_boost=0"),
                            ("shuffle_interval=1", "shuffle_interval=0"), ("boosted", ""), ("paused", ""), ("shuffled", "")):
            code, _, rows = self.tortured([line.replace(word, other) for line in self.DONE])
            self.assertEqual((code, rows[1].split(",")[-1]), (1, "not: passes"), other)

    def test_what_the_kernels_scripts_say(self):
        code, said, rows = self.tortured(self.DONE, judge="echo WARNING: Summary: Bugs: 1")
        self.assertEqual((code, rows[1].split(",")[-1]), (1, "not: passes"))
        self.assertIn("not ok locktorture: handover_ticket passes: WARNING: Summary: Bugs: 1", said)
        for more in ({"count": "1000"}, {"count": ""}, {"took": 14.9}, {"nested": "0x7f of ticket"}, {"nested": "0xff of twa"},
                     {"nested": "0xff of ticket_irq"}):
            code, _, rows = self.tortured(self.DONE, **more)
            self.assertEqual((code, rows[1].split(",")[-1]), (1, "not: passes"), more)

    def test_a_lock_that_excludes_nobody_must_fail(self):
        path = "build/tree/judge/parse-console.sh"
        code, said, rows = self.tortured(self.DONE)
        self.assertEqual(code, 0)
        self.stub("scripts/build/locktorture", f"printf '#!/bin/bash\\n' >{path}; echo $PWD/build/tree")
        code, said = self.ran("tests/suites/locktorture", "15", "ticket")
        self.assertEqual(code, 1)
        self.assertIn("not ok locktorture: lock_busted fails: a lock that excludes nobody passes", said)

    def test_more_virtual_cpus_than_cpus_are_said(self):
        for cpus, is_said in ((1, True), (2, True), (3, True), (4, False), (16, False)):
            said = self.tortured(self.DONE, cpus)[1]
            (label,) = [line for line in said if line.startswith("# locktorture: ")]
            self.assertEqual(("more virtual CPUs than CPUs" in label, f"4 virtual CPUs on {cpus} CPUs" in label), (is_said, True), label)
            self.assertTrue(label.endswith(": handover_ticket,15,stutter=5 all,3389626,passes"), label)

    def test_a_guest_that_dies_of_what_is_left(self):
        self.assertIn("ok locktorture: all modules can go", self.tortured(self.DONE)[1])
        path = self.top / "scripts/guest/boot"
        path.write_text(path.read_text().replace("ok all modules can go\\r\\n", "") + f"echo '[ 99.0] BUG: address: 0' >>{self.out}/console.log\n")
        code, said = self.ran("tests/suites/locktorture", "15", "ticket")
        self.assertEqual(code, 1)
        self.assertIn("not ok locktorture: all modules can go: the guest came to its end before: [ 99.0] BUG: address: 0", said)

    def test_a_splat_between_the_runs(self):
        code, _, _ = self.tortured(self.DONE)
        self.assertEqual(code, 0)
        path = self.top / "scripts/guest/boot"
        path.write_text(path.read_text() + f"echo '[ 99.0] WARNING: at f+0x1' >>{self.out}/console.log\n")
        code, said = self.ran("tests/suites/locktorture", "15", "ticket")
        self.assertEqual(code, 1)
        self.assertIn("not ok locktorture: the console between the runs: [ 99.0] WARNING: at f+0x1", said)
