# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/{run,bench} and scripts/guest/{boot,boot-pair,choose-accel}, as they are called. Guests say and do what a test asks."""

import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
REAL = ("scripts/run", "scripts/bench", "scripts/guest/choose-accel", "scripts/guest/boot", "scripts/guest/boot-pair", "scripts/guest/kunit", "scripts/guest/unpack-stream", "scripts/guest/console-badness", "scripts/guest/why-failed",
        "scripts/guest/watch-stream", "scripts/lib/env.sh", "scripts/lib/knob.sh", "scripts/lib/busy.sh", "rust/locks/list.rs", "rust/linux/harness/registry.rs")
STUBS = {
    "bin/nproc": "echo 4",
    "scripts/guest/tsc-khz": "echo 1234567",
    "scripts/build/module-for": "echo build/module",
    "scripts/build/tree": "echo build/tree",
}


class Guests(unittest.TestCase):
    """A tree of its own, with build/OUT as it was left by an earlier guest."""

    out = "build/out"

    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.top)
        for name in REAL:
            (self.top / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / name, self.top / name)
        for name, text in STUBS.items():
            self.stub(name, text)
        (self.top / self.out).mkdir(parents=True)

    def stub(self, name, text):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/usr/bin/env bash\nset -euo pipefail\n" + text + "\n")
        path.chmod(0o755)

    def write(self, name, text):
        (self.top / self.out / name).write_text(text)

    def read(self, name):
        return (self.top / self.out / name).read_text()

    def there(self, name):
        return (self.top / self.out / name).exists()

    def ran(self, *command, **knobs):
        path = f"{self.top}/bin:{os.environ['PATH']}"
        done = subprocess.run(command, cwd=self.top, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              env=os.environ | {"PATH": path, "HANDOVER_ALONE": ""} | knobs)
        return done.returncode, done.stdout + done.stderr


class Boot(Guests):
    """The toolbox's part, in which QEMU runs, is `guest`: it finds $out, and its exit is the guest's."""

    def boot(self, guest):
        self.stub("scripts/guest/choose-accel", "echo kvm")
        self.stub("scripts/in-toolbox", f"out={self.out}\n{guest}")
        return self.ran("scripts/guest/boot", "--out", self.out, "--limit", "77", "job")

    def test_its_words_come_inside(self):
        """A tree may have the name of what makes it. What lies in the cache has another name there."""
        self.stub("scripts/guest/choose-accel", "echo kvm")
        self.stub("scripts/build/locktorture", 'echo "$XDG_CACHE_HOME/handover/made"')
        self.stub("scripts/build/none", "exit 1")
        self.stub("scripts/in-toolbox", f"echo \"$TREE $*\" >build/asked; echo quiet >{self.out}/console.log; echo '@@ exit 0' >{self.out}/stream")
        cache = f"{self.top}/its/handover"
        words = ["--out", self.out, "--module", f"{cache}/module", "--files", "build"]
        code, said = self.ran("scripts/guest/boot", *words, "--tree", "locktorture", "job", "word", XDG_CACHE_HOME=f"{self.top}/its")
        self.assertEqual(code, 0, said)
        self.assertEqual((self.top / "build/asked").read_text().split(), ["build/tree", "scripts/guest/boot", "--inside", "--out", self.out, "--module",
                         "/cache/module", "--files", "build", "--tree", "/cache/made", "job", "word"])
        for wrong, why in ((("--tree", "none", "job"), "--tree none: allowed: a folder, or a script of scripts/build that makes one"), ((), "which job?"), (("--smq", "4", "job"), "unknown option --smq")):
            code, said = self.ran("scripts/guest/boot", *words, *wrong)
            self.assertEqual((code, said.splitlines()[-1]), (1, f"handover: error: boot: {why}"))

    def test_without_words_it_has_two_minutes(self):
        self.stub("scripts/guest/choose-accel", "echo kvm")
        self.stub("scripts/in-toolbox", f"touch {self.out}/console.log {self.out}/stream; exit 124")
        self.assertIn("the guest was ended after 120 s, or did not start", self.ran("scripts/guest/boot", "--out", self.out, "job")[1])

    def test_the_exit_is_the_jobs(self):
        for number in ("0", "3"):
            code, _ = self.boot(f"echo quiet >$out/console.log; echo '@@ exit {number}' >$out/stream")
            self.assertEqual(code, int(number))

    def test_what_it_told_is_there_after_the_limit(self):
        code, said = self.boot("echo quiet >$out/console.log; printf '@@ start\\n@@ file results\\na,b\\n1,2\\n@@ end\\n' >$out/stream; exit 124")
        self.assertEqual(code, 124)
        self.assertIn("after 77 s", said)
        self.assertEqual(self.read("results"), "a,b\n1,2\n")

    def test_the_limit_is_no_exit_of_the_jobs(self):
        self.assertEqual(self.boot("echo quiet >$out/console.log; echo '@@ exit 0' >$out/stream; exit 124")[0], 124)

    def test_what_an_earlier_guest_said_is_not_this_ones(self):
        for name, text in {"stream": "@@ exit 0\n", "console.log": "quiet\n", "console-1.log": "quiet\n"}.items():
            self.write(name, text)
        code, said = self.boot("[ ! -e $out/stream ] && [ ! -e $out/console.log ] && [ ! -e $out/console-1.log ] && : >$out/stream >$out/console.log")
        self.assertEqual(code, 98)
        self.assertIn("ended before its job did", said)

    def test_no_guest_is_no_exit_of_the_jobs(self):
        for number in ("1", "3", "127"):
            code, said = self.boot(f"echo quiet >$out/console.log; : >$out/stream; exit {number}")
            self.assertEqual(code, 98)
            self.assertIn(f"no guest ran (exit {number})", said)

    def test_an_accelerator_that_is_named_is_taken(self):
        self.stub("scripts/guest/choose-accel", "echo ${1:-kvm}")
        self.stub("scripts/in-toolbox", f"echo quiet >{self.out}/console.log; echo '@@ exit 0' >{self.out}/stream")
        for words, due in ((["--accel", "tcg"], "tcg\n"), ([], "kvm\n")):
            self.ran("scripts/guest/boot", "--out", self.out, *words, "job")
            self.assertEqual(self.read("accel"), due)
            # The counter's rate is this machine's. KVM does not ask for it.
            self.assertEqual(self.there("tsc-khz") and self.read("tsc-khz"), due == "tcg\n" and "1234567\n")

    def test_a_splat_outweighs_the_jobs_exit(self):
        code, said = self.boot("echo '[ 5.1] WARNING: at f+0x1' >$out/console.log; echo '@@ exit 0' >$out/stream")
        self.assertEqual(code, 99)
        self.assertIn("WARNING: at f", said)

    def test_a_splat_outweighs_an_early_end(self):
        code, said = self.boot("echo '[ 5.1] Kernel panic - not syncing: Fatal exception' >$out/console.log; echo '@@ start' >$out/stream")
        self.assertEqual(code, 99)
        self.assertIn("Kernel panic", said)

    def test_the_jobs_last_word_is_its_exit(self):
        self.assertEqual(self.boot("echo quiet >$out/console.log; printf '@@ exit 0\\r\\n@@ exit 5\\r\\n' >$out/stream")[0], 5)

    def test_the_accelerator_is_kept(self):
        self.boot("echo quiet >$out/console.log; echo '@@ exit 0' >$out/stream")
        self.assertEqual(self.read("accel"), "kvm\n")


    def test_a_guest_waits_for_its_place(self):
        """There are as many places as CPUs, and one more."""
        self.stub("scripts/guest/choose-accel", "echo kvm")
        self.stub("scripts/in-toolbox", f"touch build/began; echo quiet >{self.out}/console.log; echo '@@ exit 0' >{self.out}/stream")
        held = [open(self.top / f"build/.guest-{place}", "w") for place in range(1, 6)]
        for file in held:
            fcntl.flock(file, fcntl.LOCK_EX)
        with subprocess.Popen(["scripts/guest/boot", "--out", self.out, "job"], cwd=self.top, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=os.environ | {"PATH": f"{self.top}/bin:{os.environ['PATH']}", "HANDOVER_ALONE": ""}) as boot:
            # It looks twice a second.
            with self.assertRaises(subprocess.TimeoutExpired):
                boot.wait(2)
            self.assertFalse((self.top / "build/began").exists())
            held[2].close()
            self.assertEqual(boot.wait(60), 0)
        for file in held:
            file.close()

    def test_a_stream_that_is_made_anew_is_followed(self):
        """Whoever boots a guest removes the stream that it finds."""
        with open(self.top / "build/seen", "w") as seen:
            ran = subprocess.run(["scripts/guest/watch-stream", "build/stream", "sh", "-c", """
                said() { for i in $(seq 400); do echo $1 >>build/stream; ! grep -q $1 build/seen || return 0; sleep 0.05; done; false; }
                said first && rm build/stream && said second && exit 3"""], cwd=self.top, stdout=seen, check=False)
        self.assertEqual(ran.returncode, 3)

    def test_what_a_stream_had_before_is_not_shown(self):
        (self.top / "build/kept").mkdir()
        (self.top / "build/kept/stream").write_text("before\n")
        for at in ("build/kept/stream", "build/new/stream"):
            with open(self.top / "build/seen", "w") as seen:
                ran = subprocess.run(["scripts/guest/watch-stream", at, "sh", "-c", f"""
                    for i in $(seq 400); do echo after >>{at}; ! grep -q after build/seen || exit 0; sleep 0.05; done; exit 7"""],
                                     cwd=self.top, stdout=seen, check=False)
            self.assertEqual(ran.returncode, 0)
            self.assertEqual(set((self.top / "build/seen").read_text().split()), {"after"})

    def test_who_follows_a_stream_ends_with_its_command(self):
        """A tail that is left holds the pipe."""
        with subprocess.Popen(["scripts/guest/watch-stream", "build/stream", "sh", "-c", "echo a >>build/stream; exit 3"], cwd=self.top,
                              stdout=subprocess.PIPE, start_new_session=True) as ran:
            try:
                ran.communicate(timeout=20)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(ran.pid, signal.SIGKILL)
        self.assertEqual(ran.returncode, 3)


class Inside(Guests):
    """The toolbox's part itself. What QEMU does in the Nth boot is `boots`[N]: it finds $console and $stream."""

    def inside(self, *boots, accel="tcg,thread=multi", words=("--limit", "20")):
        self.write("accel", f"{accel}\n")
        self.write("tsc-khz", "7654321\n")
        self.stub("scripts/build/initramfs", ":")
        cases = "\n".join(f"{n}) {text} ;;" for n, text in enumerate(boots, 1))
        self.stub("bin/qemu-system-x86_64", f"""
            at={self.out} console={self.out}/console.log stream={self.out}/stream
            echo boot >>$at/boots
            printf '%s\\n' "$@" >$at/words
            case $(wc -l <$at/boots) in
            {cases}
            esac""")
        code, said = self.ran("scripts/guest/boot", "--inside", "--out", self.out, *words, "job")
        return code, len(self.read("boots").split()), said

    OOPS = "echo '[ 1.8] Oops: int3: 0000 [#1] SMP' >$console"
    WELL = "printf '@@ start\\n@@ exit 0\\n' >$stream"

    def test_a_breakpoint_before_the_job_is_the_emulators(self):
        code, boots, said = self.inside(self.OOPS, self.WELL)
        self.assertEqual((code, boots), (0, 2), said)
        self.assertIn("before the job: Oops: int3: 0000 [#1] SMP (boot 1 of 3)", said)
        self.assertIn("int3", self.read("console-1.log"))

    def test_one_in_the_job_is_kept(self):
        code, boots, said = self.inside("echo '@@ start' >$stream; " + self.OOPS, self.WELL)
        self.assertEqual((code, boots), (0, 1), said)
        self.assertIn("int3", self.read("console.log"))

    def test_one_without_emulation_is_kept(self):
        code, boots, said = self.inside(self.OOPS, self.WELL, accel="kvm")
        self.assertEqual((code, boots), (0, 1), said)

    def test_another_fault_is_kept(self):
        code, boots, said = self.inside("echo '[ 1.8] Oops: 0002 [#1] SMP' >$console", self.WELL)
        self.assertEqual((code, boots), (0, 1), said)

    def test_a_job_has_its_limit(self):
        began = time.monotonic()
        # However much it says.
        code, boots, said = self.inside("printf '@@ start\\n' >$stream; for n in $(seq 600); do echo $n >>$console; sleep 0.1; done", words=("--limit", "3"))
        self.assertEqual((code, boots), (124, 1), said)
        took = time.monotonic() - began
        # The limit is of whole seconds, so it may come one early. Ten limits are ten seconds more than a busy host takes.
        self.assertTrue(2 <= took < 20, took)

    def test_the_limit_is_the_jobs(self):
        """However long the boot took."""
        code, boots, said = self.inside("sleep 8; echo '@@ start' >$stream; sleep 1; echo '@@ exit 0' >>$stream", words=("--limit", "7"))
        self.assertEqual((code, boots), (0, 1), said)

    def test_a_guest_that_has_said_all_is_ended(self):
        began = time.monotonic()
        code, boots, said = self.inside("printf '@@ start\\n@@ exit 3\\n' >$stream; exec sleep 60", words=("--limit", "50"))
        self.assertEqual((code, boots), (0, 1), said)
        self.assertLess(time.monotonic() - began, 30)

    def test_a_guest_is_ended_when_its_console_says_so(self):
        began = time.monotonic()
        code, boots, said = self.inside("printf '@@ start\\n' >$stream; echo 'now: over 7' >$console; exec sleep 60",
                                        words=("--limit", "50", "--until", "over [0-9]"))
        self.assertEqual((code, boots), (0, 1), said)
        self.assertLess(time.monotonic() - began, 30)

    def test_the_machine_is_what_was_asked_for(self):
        net = "52:54:00:00:00:09,socket,mcast=230.0.0.1:4077"
        self.inside(self.WELL, words=("--memory", "77", "--smp", "6", "--threads", "2", "--cpu", "tiny", "--append", "one two=3", "--net", net))
        words = self.read("words").splitlines()
        after = {word: words[at + 1] for at, word in enumerate(words[:-1])}
        self.assertEqual([after[word] for word in ("-m", "-smp", "-cpu", "-accel", "-netdev")],
                         ["77", "6,cores=3,threads=2", "tiny", "tcg,thread=multi", "socket,mcast=230.0.0.1:4077,id=net"])
        self.assertIn("mac=52:54:00:00:00:09", after["-device"])
        self.assertTrue(after["-append"].endswith(" tsc_early_khz=7654321 one two=3"), after["-append"])
        self.inside(self.WELL, accel="kvm")
        words = self.read("words").splitlines()
        after = {word: words[at + 1] for at, word in enumerate(words[:-1])}
        self.assertEqual([after[word] for word in ("-m", "-smp", "-cpu", "-accel")],
                         ["1024", "4,cores=4,threads=1", "max,-hypervisor", "kvm"])
        # KVM tells a guest of its clock. Cases run where a job asks for them.
        self.assertEqual(after["-append"], "console=ttyS0 tsc=reliable no_timer_check panic=-1 oops=panic kasan.fault=panic nopvspin kunit.autorun=0 ")

    def test_the_machine_is_what_its_kernel_can(self):
        path = self.top / "scripts/guest/boot"
        path.write_text(path.read_text().replace("/mnt/kernel", str(self.top / "build/kernel")))
        (self.top / "build/kernel").mkdir()
        for config, topology, levels in (("CONFIG_ACPI=y\n# CONFIG_KASAN is not set\n", "cores=4,threads=1", False),
                                         ("# CONFIG_ACPI is not set\nCONFIG_KASAN_GENERIC=y\n", "sockets=4", False), ("CONFIG_KASAN=y\n", "cores=4,threads=1", True)):
            (self.top / "build/kernel/.config").write_text("CONFIG_X86=y\n" + config)
            self.inside(self.WELL)
            words = self.read("words").splitlines()
            self.assertEqual(words[words.index("-smp") + 1], f"4,{topology}")
            self.assertEqual("no5lvl" in words[words.index("-append") + 1].split(), levels)
            self.assertEqual(words[words.index("-kernel") + 1], f"{self.top}/build/kernel/vmlinuz")

    def test_a_kernel_that_falls_silent_boots_again(self):
        path = self.top / "scripts/guest/boot"
        text = path.read_text()
        self.assertRegex(text, r"\nstart_limit=[1-9][0-9]\n")
        path.write_text(re.sub(r"\nstart_limit=[0-9]+\n", "\nstart_limit=4\n", text))
        # One that says nothing, and one that says a word: each is silent for less than it may go on in all.
        for word in (":", "echo word >$console"):
            self.write("boots", "")
            began = time.monotonic()
            code, boots, said = self.inside(f"{word}; exec sleep 60", self.WELL)
            self.assertEqual((code, boots), (0, 2), said)
            self.assertIn("before the job: none began in 4 s of silence, or in 20 s (boot 1 of 3)", said)
            self.assertLess(time.monotonic() - began, 18)
        # One that goes on, however slowly, is no such kernel, for a while.
        self.write("boots", "")
        code, boots, said = self.inside("for i in 1 2 3 4 5 6; do sleep 1; echo $i >>$console; done; " + self.WELL)
        self.assertEqual((code, boots), (0, 1), said)
        # One that goes on for ever does not start either.
        self.write("boots", "")
        code, boots, said = self.inside("for i in $(seq 80); do sleep 0.5; echo $i >>$console; done", self.WELL)
        self.assertEqual((code, boots), (0, 2), said)

    def test_a_fault_ends_the_guest(self):
        self.inside(self.WELL)
        words = self.read("words").splitlines()
        for word in ("panic=-1", "oops=panic", "console=ttyS0", "tsc=reliable"):
            self.assertIn(word, words[words.index("-append") + 1].split())
        self.assertIn("-no-reboot", words)

    def test_three_are_too_many(self):
        code, boots, said = self.inside(self.OOPS, self.OOPS, self.OOPS, self.WELL)
        self.assertEqual((code, boots), (124, 3), said)


TELLS = "echo 'lock,n' >$out/results; echo 'twa,9' >>$out/results; echo by-writer >$out/writers; echo 'the table' >$out/summary; echo kvm >$out/accel"


class Run(Guests):
    """make run. What boots is `guest`: it finds $out, and its exit is the job's."""

    def setUp(self):
        super().setUp()
        self.stub("bin/sleep", ":")

    def run_of(self, guest, **knobs):
        self.stub("scripts/guest/boot", f"out={self.out}\n: >$out/console.log\necho \"$*\" >build/asked\n{guest}")
        self.stub("scripts/in-toolbox", "[ $1 = scripts/report/summarize ] && sed 's/^/summarized /'")
        return self.ran("scripts/run", **{"RUN_OUT": self.out, "SMP": "4"} | knobs)

    def asked(self):
        return (self.top / "build/asked").read_text().split()

    def busy(self, *times):
        """From here on /proc/stat is the one with these times, and a second later that with those, and nobody sleeps."""
        for number, each in enumerate(times):
            (self.top / f"build/stat-{number}").write_text("cpu0 1 2 3 4 5 6 7 8 9 10\ncpu  " + " ".join(map(str, each)) + "\n")
        (self.top / "build/looks").write_text("")
        self.stub("bin/sleep", ":")
        self.stub("bin/awk", """
            awk=$(PATH=${PATH#*:} command -v awk)
            [ "${!#}" = /proc/stat ] || exec "$awk" "$@"
            set -- "${@:1:$#-1}" "build/stat-$(wc -l <build/looks)"
            echo >>build/looks
            exec "$awk" "$@\"""")

    def test_results_are_shown_and_kept(self):
        code, said = self.run_of(TELLS)
        self.assertEqual(code, 0, said)
        self.assertIn("the table\n", said)
        self.assertIn("\n4 vCPUs on 4 CPUs, accelerator kvm; stock kernel\n", said)
        self.assertIn("raw data: " + ", ".join(f"{self.out}/{name}" for name in ("results.csv", "writers.csv", "summary.csv", "console.log")), said)
        self.assertEqual([self.read(name) for name in ("results.csv", "writers.csv", "summary.csv")],
                         ["lock,n\ntwa,9\n", "by-writer\n", "summarized lock,n\nsummarized twa,9\n"])
        for word in ("more vCPUs than CPUs", "emulation", "error"):
            self.assertNotIn(word, said)

    def test_what_makes_them_no_figures_is_said(self):
        for accel in ("tcg", "tcg,thread=multi"):
            _, said = self.run_of(TELLS.replace("kvm", accel))
            self.assertIn("\nREMARK: emulation. What costs here is translation, not coherence: these figures do not stand beside the paper's.\n", said)
        self.stub("bin/nproc", "echo 3")
        _, said = self.run_of(TELLS, KERNEL="test")
        self.assertIn("\nREMARK: more vCPUs than CPUs. A waiter that is next may not be running: FIFO locks collapse. "
                      "These figures check correctness, not speed.\n", said)
        self.assertIn("\n4 vCPUs on 3 CPUs, accelerator kvm; test kernel\n", said)

    def test_a_busy_machine_is_said(self):
        # user nice system idle iowait irq softirq steal guest guest_nice, of a second; steal and guests are not this machine's.
        none = [1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 9500]
        for at, due in ((0, 30), (1, 30), (2, 30), (3, 0), (4, 0), (5, 30), (6, 30), (7, 0), (8, 0), (9, 0)):
            spent = [0, 0, 0, 700, 0, 0, 0, 0, 0, 0]
            spent[at] += 300
            self.busy(none, [one + more for one, more in zip(none, spent)])
            self.assertEqual(self.ran("bash", "-c", ". scripts/lib/busy.sh; busy"), (0, f"{due}\n"), at)
        # Months of many CPUs.
        old = [5_000_000_000 + one for one in none]
        self.busy(old, [one + more for one, more in zip(old, [300, 0, 0, 700, 0, 0, 0, 0, 0, 0])])
        self.assertEqual(self.ran("bash", "-c", ". scripts/lib/busy.sh; busy"), (0, "30\n"))
        self.assertEqual(self.ran("bash", "-c", ". scripts/lib/busy.sh; remark_busy 14"), (0, ""))
        for busy, is_said in ((149, False), (150, True), (1000, True)):
            self.busy(none, [one + more for one, more in zip(none, [busy, 0, 0, 1000 - busy, 0, 0, 0, 0, 0, 0])])
            said = self.run_of(TELLS + "\n[ $(wc -l <build/looks) -eq 2 ] || echo 'it looks later' >&2")[1]
            self.assertNotIn("it looks later", said)
            self.assertEqual(f"REMARK: this machine was not idle ({busy // 10} % busy before)." in said, is_said, said)

    def test_an_earlier_runs_results_are_not_this_ones(self):
        self.assertEqual(self.run_of(TELLS)[0], 0)
        code, said = self.run_of("exit 124")
        self.assertEqual(code, 1)
        self.assertIn("run: failed (exit 124): timeout", said)
        for word in ("the table", "raw data"):
            self.assertNotIn(word, said)
        for name in ("results.csv", "writers.csv", "summary.csv", "results", "writers", "summary"):
            self.assertFalse(self.there(name), name)

    def test_results_of_a_run_that_failed_are_shown_too(self):
        code, said = self.run_of(TELLS + "; echo 'handover: twa: failures: owner 1' >$out/console.log; exit 5")
        self.assertEqual(code, 1)
        self.assertIn("the table\n", said)
        self.assertIn("run: failed (exit 5): a lock failed its checks: handover: twa: failures: owner 1", said)

    def test_the_guest_is_asked_for_what_the_user_asked_for(self):
        code, said = self.run_of(TELLS, LOCKS="ticket twa", WRITERS="2,3", SECS="7", RUNS="5", CS_STEPS="11", NCS_STEPS="13", KERNEL="test")
        self.assertEqual(code, 0, said)
        asked = (self.top / "build/asked").read_text().split()
        for word in ("torture_type=ticket,twa", "nwriters_stress=2,3", "duration=7", "runs=5", "cs_steps=11", "ncs_steps=13"):
            self.assertIn(word, asked)
        self.assertEqual([asked[asked.index(word) + 1] for word in ("--kernel", "--smp", "--out")], ["test", "4", self.out])

    def test_without_knobs_it_is_what_the_page_says(self):
        for cpus, smp in (("4", "4"), ("2", "2"), ("1", "2"), ("3", "3"), ("7", "7"), ("64", "64"), ("65", "64"), ("96", "64")):
            self.stub("bin/nproc", f"echo {cpus}")
            code, said = self.run_of(TELLS, SMP="")
            self.assertEqual(code, 0, said)
            asked = self.asked()
            self.assertEqual([asked[asked.index(word) + 1] for word in ("--smp", "--kernel")], [smp, "stock"])
            self.assertEqual("REMARK: more vCPUs than CPUs" in said, int(smp) > int(cpus), said)
            words = dict(word.split("=") for word in asked if "=" in word)
            self.assertEqual(words, {"torture_type": "twa,ticket,spin_lock", "nwriters_stress": "1,2,4", "duration": "2", "runs": "3",
                                     "cs_steps": "20", "ncs_steps": "400"})

    def test_each_knob_has_its_bounds(self):
        for knob, least, most, word in (("SECS", 1, 3600, "duration="), ("RUNS", 1, 1000, "runs="), ("SMP", 1, 64, "--smp "),
                                        ("CS_STEPS", 0, 1000000, "cs_steps="), ("NCS_STEPS", 0, 1000000, "ncs_steps="),
                                        ("WRITERS", 1, 1024, "nwriters_stress=")):
            for value in (least, most):
                code, said = self.run_of(TELLS, **{knob: str(value)})
                self.assertEqual(code, 0, said)
                self.assertIn(f" {word}{value} ", " ".join(self.asked()) + " ")
            for value in (least - 1, most + 1, "08", "x", "1.5", "-3", "1000000000", "18446744073709551617"):
                (self.top / "build/asked").unlink(missing_ok=True)
                code, said = self.run_of(TELLS, **{knob: str(value)})
                self.assertEqual((code, said), (1, f"handover: error: run: {knob}={value}: allowed: {least} to {most}\n"))
                self.assertFalse((self.top / "build/asked").exists())

    def test_what_is_of_no_list_is_refused(self):
        known = subprocess.run(["bash", "-c", ". scripts/lib/env.sh; locks | paste -sd' '"], cwd=self.top, check=True, text=True,
                               capture_output=True).stdout.strip()
        for knob, value, word, allowed in (("LOCKS", "hemlock", "hemlock", f"all {known}"), ("LOCKS", "twa,tw", "tw", f"all {known}"),
                                           ("LOCKS", "twa_irq ALL", "ALL", f"all {known}"), ("KERNEL", "mine", "mine", "stock, test")):
            code, said = self.run_of(TELLS, **{knob: value})
            self.assertEqual((code, said), (1, f"handover: error: run: {knob}={word}: allowed: {allowed}\n"))

    def test_it_is_of_its_clone_wherever_it_is_called(self):
        self.run_of(TELLS)
        code, said = self.ran("bash", "-c", 'top=$PWD; cd /; exec "$top/scripts/run"', RUN_OUT=self.out)
        self.assertEqual(code, 0, said)
        self.assertIn("the table\n", said)

    def test_the_log_shows_how_far_the_guest_is(self):
        code, said = self.run_of("""
            for i in $(seq 400); do
                echo "run $i" >>$out/stream
                ! grep -q '^run' $out/log || exit 3
                read -r -t 0.05 <> <(:) || true
            done""")
        self.assertEqual(code, 1)
        self.assertIn("run: failed (exit 3): rmmod failed", said)

    def test_all_is_every_lock_that_excludes(self):
        known = subprocess.run(["bash", "-c", ". scripts/lib/env.sh; locks lock"], cwd=self.top, check=True, text=True,
                               capture_output=True).stdout.split()
        for named, due in (("all", known), ("all busted", [*known, "busted"]), ("busted,all", ["busted", *known])):
            code, said = self.run_of(TELLS, LOCKS=named, WRITERS="2", SECS="3", RUNS="1")
            self.assertEqual(code, 0, said)
            self.assertIn("torture_type=" + ",".join(due), self.asked())
            self.assertIn(f"{len(due)} runs of 3 s", said)

    def test_what_is_none_or_too_many_is_refused(self):
        sixteen = " ".join(str(number) for number in range(1, 17))
        self.assertEqual(self.run_of(TELLS, WRITERS=sixteen)[0], 0)
        for knobs, why in (({"WRITERS": sixteen + " 17"}, f"WRITERS={sixteen.replace(' ', ',')},17: allowed: at most 16 of them"),
                           ({"WRITERS": " "}, "WRITERS=: allowed: at least one"), ({"LOCKS": " "}, "LOCKS=: allowed: at least one"),
                           ({"WRITERS": "1025"}, "WRITERS=1025: allowed: 1 to 1024")):
            code, said = self.run_of(TELLS, **knobs)
            self.assertEqual((code, said), (1, f"handover: error: run: {why}\n"))

    def test_a_guest_that_failed_shows_what_it_said(self):
        _, said = self.run_of("echo a word before it failed; exit 3")
        self.assertIn("a word before it failed", said)
        self.assertIn("run: failed (exit 3): rmmod failed", said)

    def test_every_run_has_its_time(self):
        for locks, writers, secs, runs in ((1, 1, 1, 1), (2, 2, 7, 5), (1, 16, 30, 9), (3, 1, 3600, 2)):
            code, said = self.run_of(TELLS, LOCKS=" ".join(("twa", "ticket", "mcs")[:locks]), WRITERS=" ".join(str(n + 1) for n in range(writers)),
                                     SECS=str(secs), RUNS=str(runs))
            self.assertEqual(code, 0, said)
            total = locks * writers * runs
            expected = re.search(rf"{total} runs of {secs} s on the stock kernel, 4 vCPUs \(about (\d+) s\)", said)
            self.assertTrue(expected and total * secs <= int(expected[1]) <= total * secs + 60, said)
            asked = (self.top / "build/asked").read_text().split()
            # The guest's limit, and the job's own.
            for limit in (asked[asked.index("--limit") + 1], asked[asked.index("tests/guest/run.sh") + 1]):
                # A guest takes up to two minutes to boot where it is emulated.
                self.assertGreaterEqual(int(limit), 2 * total * secs + 60)

    def test_what_is_there_twice_is_refused(self):
        known = subprocess.run(["bash", "-c", ". scripts/lib/env.sh; locks lock | paste -sd,"], cwd=self.top, check=True, text=True,
                               capture_output=True).stdout.strip()
        for knobs in ({"LOCKS": "twa ticket twa"}, {"LOCKS": "mcs mcs"}, {"WRITERS": "1 2 1"}, {"WRITERS": "3,3"}, {"LOCKS": "all twa"}):
            code, said = self.run_of(TELLS, **knobs)
            (name, text), = knobs.items()
            text = text.replace("all", known)
            self.assertEqual((code, said), (1, f"handover: error: run: {name}={text.replace(' ', ',')}: allowed: each once\n"))


class Kunit(Guests):
    """scripts/guest/kunit. What boots is `guest`: it finds $out. kunit.py is `judge`, which finds the words it is given."""

    def kunit(self, guest="echo KTAP >$out/log", judge="echo ok s.a", words=("test", "build/module", "build/out")):
        self.stub("scripts/build/kernel", "echo build/tree")
        self.stub("scripts/guest/boot", f"out={self.out}\nprintf '%s\\n' \"$@\" >build/asked\n: >$out/console.log\n{guest}")
        self.stub("scripts/in-toolbox", f"printf '%s\\n' \"$@\" >build/judged\nout={self.out}\n{judge}")
        code, said = self.ran("scripts/guest/kunit", *words)
        return code, said.splitlines()

    def test_what_its_reader_says(self):
        code, said = self.kunit()
        self.assertEqual((code, "ok kunit test: s.a" in said), (0, True), said)
        judged = (self.top / "build/judged").read_text().split()
        self.assertTrue(judged[0] == "scripts/report/kunit-lines" and judged[1].endswith(self.out), judged)
        locks = re.findall(r"^ +(\w+): .* = (?:usual|more), ", (TOP / "rust/locks/list.rs").read_text(), re.MULTILINE)
        self.assertEqual({word for word in judged[2:] if word.endswith("=15")}, {f"handover_{lock}=15" for lock in locks})
        code, said = self.kunit(judge="echo not ok s.a: FAIL; exit 1")
        self.assertEqual((code, "not ok kunit test: s.a: FAIL" in said), (1, True), said)
        code, said = self.kunit(judge="exit 1")
        self.assertEqual(code, 1, said)

    def test_a_guest_that_fails(self):
        code, said = self.kunit("echo KTAP >$out/log; exit 124")
        self.assertEqual((code, "not ok kunit test: timeout" in said, "ok kunit test: s.a" in said), (1, True, True), said)

    def test_an_earlier_log_is_not_this_ones(self):
        """What is read where a guest left none is what its console has of the module."""
        self.write("log", "an earlier one")
        self.kunit(r"printf 'boot\r\nloading out-of-tree module\r\nKTAP\r\n' >$out/console.log; exit 2", "cat $out/log >build/read")
        self.assertEqual((self.top / "build/read").read_text(), "loading out-of-tree module\nKTAP\n")

    def test_what_it_asks_for(self):
        for kernel, limit in (("test", "300"), ("lockdep", "300"), ("kasan", "600"), ("kcsan", "600")):
            self.kunit(words=(kernel, "build/module", self.out))
            asked = (self.top / "build/asked").read_text().splitlines()
            after = dict(zip(asked, asked[1:]))
            self.assertEqual((after["--kernel"], after["--module"], after["--limit"], after["--smp"]), (kernel, "build/module", limit, "4"))
            self.assertIn("kunit.filter_glob=handover_*", after["--append"].split())
        self.kunit(words=("test", "build/module", self.out, "handover_run.a*"))
        asked = (self.top / "build/asked").read_text().splitlines()
        self.assertIn("kunit.filter_glob=handover_run.a*", dict(zip(asked, asked[1:]))["--append"].split())


class Bench(Guests):
    """make bench. What boots keeps its words, and each folder says its name; the reports keep theirs."""

    def bench(self, boots, accel="kvm", more="", at="."):
        self.stub("scripts/build/locktorture", "echo build/locktorture")
        self.stub("scripts/in-toolbox", 'echo "$*" >>build/reports')
        self.stub("scripts/guest/boot", f"""echo "$*" >>build/asked
            while [ "$1" != --out ]; do shift; done
            echo {accel} >"$2/accel"
            [ ! -e build/looks ] || wc -l <build/looks >>build/looked
            echo rows of "$2" >"$2/calibration"
            for name in status latency-status writers-status; do
                printf 'state: done\\nfacts: %s of %s\\nworkload: work, %s of %s\\n' $name "${{2##*/}}" $name "${{2##*/}}" >"$2/$name"
            done
            {more}""")
        code, said = self.ran("bash", "-c", f'top=$PWD; cd {at}; exec "$top/scripts/bench"', BOOTS=str(boots))
        self.assertEqual(code, 0, said)
        return said.splitlines()

    def lines(self, name):
        return [line.split() for line in (self.top / "build" / name).read_text().splitlines()]

    @staticmethod
    def option(words, name):
        return words[words.index(name) + 1]

    def test_in_each_boot_another_lock_is_the_first(self):
        known = subprocess.run(["bash", "-c", ". scripts/lib/env.sh; locks lock"], cwd=self.top, check=True, text=True,
                               capture_output=True).stdout.split()
        boots = len(known) + 2
        self.bench(boots)
        asked = [words for words in self.lines("asked") if "tests/guest/bench.sh" in words]
        self.assertEqual([self.option(words, "--kernel") for words in asked], ["stock", "test"] * boots)
        # A boot's figure is the median of so many runs.
        self.assertEqual({words[-2] for words in asked}, {"3"})
        orders = [words[-1].split(",") for words in asked]
        for number, order in enumerate(orders):
            turned = number // 2 % len(known)
            self.assertEqual(order, known[turned:] + known[:turned])

    def test_each_boot_is_on_the_cpus_that_are_said(self):
        for cpus, smp in (("4", "4"), ("1", "2"), ("2", "2"), ("3", "3")):
            self.stub("bin/nproc", f"echo {cpus}")
            (self.top / "build/asked").write_text("")
            said = self.bench(2)
            self.assertEqual({self.option(words, "--smp") for words in self.lines("asked")}, {smp})
            self.assertIn(f"{smp} vCPUs on {cpus} CPUs, accelerator kvm", said)
        self.assertEqual([self.option(words, "--out") for words in self.lines("asked")],
                         [f"build/bench/raw/{it}" for it in ("stock-1", "test-1", "stock-2", "test-2", "calibration")])

    def test_the_conditions_are_those_of_each_kernel(self):
        self.busy(3)
        said = self.bench(1)
        for kernel in ("stock", "test"):
            at = said.index(f"{kernel}: status of {kernel}-1")
            self.assertEqual(said[at + 1:at + 3], [f"{kernel}, times: latency-status of {kernel}-1",
                                                   f"{kernel}, writers: work, writers-status of {kernel}-1"])
        self.assertFalse([line for line in said if line.startswith("REMARK")])
        self.assertEqual([line for line in self.bench(1, "tcg,thread=multi") if line.startswith("REMARK")],
                         ["REMARK: emulation. Nanoseconds and ratios here are of translated code, not of hardware; see docs/results/kernel.md."])
        self.assertIn("raw data: build/bench/uncontended.csv, build/bench/uncontended-raw.csv, build/bench/contended.csv, "
                      "build/bench/latency.csv, build/bench/calibration.csv, build/bench/raw", said)

    def test_each_boot_is_said_and_followed(self):
        """An earlier bench leaves nothing. What is made is made before the look whether the machine is busy."""
        (self.top / "build/bench/raw/stock-9").mkdir(parents=True)
        self.stub("scripts/build/module-for", "echo made >>build/made; echo build/module-$1")
        self.busy(3)
        self.stub("bin/sleep", "[ $(wc -l <build/made) -ge 2 ] || echo too early >&2")
        said = self.bench(2, more="for i in $(seq 400); do echo word >>$2/stream; ! grep -q word $2/log || exit 0; read -r -t 0.05 <> <(:) || true; done; exit 3")
        self.assertNotIn("too early", said)
        self.assertFalse((self.top / "build/bench/raw/stock-9").exists())
        steps = [line.removeprefix("handover: ") for line in said if line.endswith(" ...")]
        self.assertEqual(steps, [f"the pair and the writers on the {kernel} kernel, boot {boot} of 2 ..." for boot in (1, 2) for kernel in ("stock", "test")]
                         + ["calibration: locktorture on the test kernel, 2 rounds ..."])
        self.assertEqual([self.option(words, "--module") for words in self.lines("asked")], [f"build/module-{it}" for it in ("stock", "test") * 2] + ["build/module-test"])

    def test_it_is_of_its_clone_wherever_it_is_called(self):
        self.assertIn("4 vCPUs on 4 CPUs, accelerator kvm", self.bench(1, at="/"))

    def test_the_reports_are_of_all_boots(self):
        self.bench(3)
        self.assertEqual(self.lines("reports"), [["scripts/report/bench-table", "build/bench", "3"],
                                                 ["scripts/report/calibration", "build/bench/calibration.csv"]])
        calibration = self.lines("asked")[-1]
        self.assertEqual(calibration[-2:], ["tests/guest/calibrate.sh", "3"])
        self.assertEqual((self.option(calibration, "--kernel"), self.option(calibration, "--tree")), ("test", "build/locktorture"))
        self.assertEqual((self.top / "build/bench/calibration.csv").read_text(), "rows of build/bench/raw/calibration\n")

    def test_calibration_has_its_time(self):
        """A round is five points of both harnesses: 3 s of ours, and 4.5 s of the kernel's, with more than a second for each."""
        for boots in (1, 30):
            (self.top / "build/asked").unlink(missing_ok=True)
            self.bench(boots)
            self.assertGreaterEqual(int(self.option(self.lines("asked")[-1], "--limit")), boots * 5 * (3 + 5 + 2) + 60)

    def test_who_was_busy_is_seen_before_the_boots(self):
        self.busy(40)
        self.assertIn("REMARK: this machine was not idle (40 % busy before).", "\n".join(self.bench(1)))
        # Both looks are over when the first guest boots, and nobody looks later.
        self.assertEqual(set((self.top / "build/looked").read_text().split()), {"2"})

    def test_a_number_of_boots_that_is_none_is_refused(self):
        for boots in ("0", "1001", "x", "-1"):
            self.assertEqual(self.ran("scripts/bench", BOOTS=boots), (1, f"handover: error: bench: BOOTS={boots}: allowed: 1 to 1000\n"))

    def busy(self, percent):
        """So busy this machine is from here on."""
        for name in ("looks", "looked"):
            (self.top / "build" / name).write_text("")
        self.stub("bin/sleep", ":")
        self.stub("bin/awk", f"""
            [ "${{!#}}" != /proc/stat ] || {{ echo >>build/looks; n=$(wc -l <build/looks); echo $((n * {percent})) $((n * 100)); exit; }}
            exec "$(PATH=${{PATH#*:}} command -v awk)" "$@\"""")

    def test_a_busy_machine_is_said(self):
        self.busy(16)
        self.assertIn("REMARK: this machine was not idle (16 % busy before). A lock whose next waiter is not running waits: take the "
                      "table again.", self.bench(1))


class Accelerator(Guests):
    """KVM where a trial works, as long as this boot of the host; there is a device for whoever is asked."""

    def chosen(self, *words):
        return self.ran("scripts/guest/choose-accel", *words, XDG_CACHE_HOME=str(self.top / "cache"))

    def test_what_is_named_is_taken(self):
        self.assertEqual(self.chosen("kvm"), (0, "kvm\n"))
        self.assertEqual(self.chosen("tcg"), (0, "tcg,thread=multi\n"))
        code, said = self.chosen("xen")
        self.assertEqual((code, said), (1, "handover: error: choose-accel: xen: allowed: tcg, kvm\n"))

    def test_an_answer_is_of_this_boot(self):
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        cache = self.top / "cache/handover"
        cache.mkdir(parents=True)
        for name in ("accel", "accel-unknown", "accel-of-another-boot"):
            (cache / name).write_text("kept\n")
        self.stub("scripts/build/stock", "echo build/stock")
        self.stub("scripts/in-toolbox", "exit 1")
        # The trial fails, if there is one: emulation.
        self.assertEqual(self.chosen(), (0, "tcg,thread=multi\n"))
        self.assertEqual((cache / f"accel-{boot}").read_text(), "tcg,thread=multi\n")
        # It works, where there is a device.
        (cache / f"accel-{boot}").unlink()
        self.stub("scripts/in-toolbox", "[ $TREE = build/stock ] && [ \"$*\" = 'scripts/guest/choose-accel --trial' ]")
        self.assertEqual(self.chosen(), (0, "kvm\n" if os.access("/dev/kvm", os.W_OK) else "tcg,thread=multi\n"))
        (cache / f"accel-{boot}").write_text("kvm\n")
        self.assertEqual(self.chosen(), (0, "kvm\n"))

    def test_a_trial_boots_to_its_end(self):
        """A kernel without a root panics. One that ends before does not, and QEMU without KVM fails."""
        script = self.top / "scripts/guest/choose-accel"
        script.write_text(script.read_text().replace("/tmp/trial.log", str(self.top / "trial.log")))
        for text, code, works in (("Linux version 7.3\nKernel panic - not syncing: VFS: Unable to mount root fs", 0, True), ("Linux version 7.3", 0, False),
                                  ("", 1, False), ("Kernel panic - not syncing", 1, False)):
            (self.top / "text").write_text(text)
            self.stub("bin/qemu-system-x86_64", f'cp {self.top}/text {self.top}/trial.log; echo "$*" >{self.top}/words; exit {code}')
            self.assertEqual(self.ran("scripts/guest/choose-accel", "--trial")[0] == 0, works, text)
            self.assertRegex((self.top / "words").read_text(), "-accel kvm .* -kernel /mnt/kernel/vmlinuz .*-serial file:")


class Pair(Guests):
    """Two guests on a cable. What boots is `guest`, which finds its number in $2 of the job's words."""

    def pair(self, guest):
        self.stub("scripts/guest/boot", 'while [ "$1" != job ]; do shift; done\nnumber=$2\n' + guest)
        return self.ran("scripts/guest/boot-pair", self.out, "--memory", "77", "job", "more")

    def test_both_run_the_job(self):
        code, said = self.pair(f'echo "$*" >{self.out}/$number/words')
        self.assertEqual(code, 0, said)
        self.assertEqual([self.read(f"{number}/words") for number in (0, 1)], ["job 0 more\n", "job 1 more\n"])

    def test_either_ones_failure_is_the_pairs(self):
        self.assertEqual(self.pair("[ $number = 1 ] || exit 3")[0], 3)
        code, said = self.pair("[ $number = 0 ] || { echo its last word; exit 99; }")
        self.assertNotEqual(code, 0)
        self.assertIn("guest 1: its last word", said)
        self.assertEqual(self.pair("exit $((number + 5))")[0], 5)
