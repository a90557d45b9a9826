# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""The guest's jobs that take figures (tests/guest/{run,bench,calibrate}.sh) and what all jobs share (verdict.sh), under the
guest's own shell, with a module that a test plays."""

import base64
import csv
import gzip
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from test_recount import COLUMNS, a_run

GUEST = pathlib.Path(__file__).resolve().parents[1] / "guest"
# The toolbox's: the guest has the same.
BUSYBOX = pathlib.Path(sys.executable).with_name("busybox")


class Jobs(unittest.TestCase):
    """A guest's files in a folder. What the guest's programs do is in shell functions."""

    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.top)
        self.debug = self.top / "debug"
        (self.top / "tmp").mkdir()
        self.write("verdict", self.moved("verdict.sh"))

    def moved(self, name):
        """A job, whose guest lies in the folder."""
        places = {"/sys/kernel/debug/handover": str(self.debug), "/tmp/": f"{self.top}/tmp/", ". /verdict": f". {self.top}/verdict"}
        return re.sub("|".join(places), lambda found: places[found[0]], (GUEST / name).read_text())

    def write(self, name, text):
        (self.top / name).parent.mkdir(exist_ok=True)
        (self.top / name).write_text(text)

    def sh(self, text, *words):
        done = subprocess.run([str(BUSYBOX), "sh", "-c", text, "job", *map(str, words)], cwd=self.top, capture_output=True, text=True,
                              check=False, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout + done.stderr

    def table(self, name, rows):
        with open(self.top / name, "w", newline="") as file:
            out = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            out.writeheader()
            out.writerows(rows)

    @staticmethod
    def told(said):
        """The files that a job told."""
        files, name = {}, None
        for line in said.splitlines():
            if line.startswith("@@ file "):
                name = line.split()[2]
                files[name] = []
            elif line == "@@ end":
                name = None
            elif name:
                files[name].append(line)
        return files


class Init(Jobs):
    """qemu/init, the guest's first process."""

    def test_all_that_a_job_says_comes_over_its_line(self):
        """In its order, between the begin and the exit. Then the guest ends."""
        places = {"/bin/busybox --install -s /bin": "", "export PATH=/bin": "", "/dev/ttyS1": "$line", "/job": str(self.top / "job"),
                  "/sys/devices/system/clocksource/clocksource0/available_clocksource": str(self.top / "clocks")}
        init = re.sub("|".join(places), lambda found: places[found[0]], (GUEST.parents[1] / "qemu/init").read_text())
        self.write("job", 'echo "out of $*"; echo err >&2; cat; echo out; exit 3\n')
        self.write("job-arguments", "one two\n")
        # The clock is another one at the third look.
        self.write("clocks", "tsc-early hpet\n")
        # The second serial line takes what comes after what was there.
        (self.top / "line").write_text("")
        commands = f"""
            line={self.top}/line
            mount() {{ echo "mount $*" >>{self.top}/begun; }}
            stty() {{ echo "stty $*" >>{self.top}/begun; }}
            usleep() {{ echo look >>{self.top}/looks; [ $looks -lt 3 ] || echo hpet tsc >{self.top}/clocks; }}
            sh() {{ {BUSYBOX} sh "$@"; }}
            reboot() {{ echo "reboot $*" >>$line; }}
            """
        code, said = self.sh(commands + re.sub(r">\$line", ">>$line", init))
        self.assertEqual((code, said), (0, ""))
        self.assertEqual((self.top / "line").read_text().splitlines(),
                         ["@@ start", "out of one two", "err", "out", "@@ exit 3", "reboot -f"])
        self.assertEqual((self.top / "looks").read_text().splitlines(), 3 * ["look"])
        self.assertEqual((self.top / "begun").read_text().splitlines(), [
            "mount -t devtmpfs dev /dev", "mount -t proc proc /proc", "mount -t sysfs sys /sys", "mount -t tmpfs tmp /tmp",
            "mount -t debugfs debug /sys/kernel/debug", "stty -F $line raw -echo".replace("$line", f"{self.top}/line")])
        # A clock that stays is waited for half a minute.
        self.write("clocks", "tsc-early hpet\n")
        (self.top / "looks").unlink()
        self.sh(commands.replace("[ $looks -lt 3 ]", "true") + re.sub(r">\$line", ">>$line", init))
        self.assertEqual(len((self.top / "looks").read_text().split()), 300)
        self.assertEqual((self.top / "line").read_text().split()[-2:], ["reboot", "-f"])


class Run(Jobs):
    """run.sh: its exit says how the experiment ended."""

    def run_of(self, *states, failures="0+0", insmod="mkdir $top/debug; next", rmmod="rm -r $top/debug", limit=3):
        """The exit of an experiment that goes through these states, one after another as the job looks, and what is said."""
        for number, state in enumerate(states):
            self.write(f"state-{number}", f"facts: none\nstate: {state}\nnow: look {number}\n")
        self.write("rows", f"a,b,c,d,e,f,g,failures\n" + "".join(f"1,2,3,4,5,6,7,{count}\n" for count in failures.split("+")))
        shutil.rmtree(self.debug, ignore_errors=True)
        functions = f"""
            top={self.top} now=0
            next() {{
                cp $top/state-$now $top/debug/status; now=$((now + 1)); [ -e $top/state-$now ] || now=$((now - 1))
                cp $top/rows $top/debug/results; echo by writer >$top/debug/writers; echo the table >$top/debug/summary
            }}
            insmod() {{ echo "$*" >$top/loaded; {insmod}; }}
            rmmod() {{ [ "$1" = handover ] && {rmmod}; }}
            sleep() {{ next; }}
            """
        return self.sh(functions + self.moved("run.sh"), limit, "torture_type=twa", "runs=2")

    WELL = "done\nruns: 2 of 2"

    def test_all_is_well(self):
        code, said = self.run_of("running\nruns: 0 of 2", "running\nruns: 1 of 2", self.WELL)
        self.assertEqual(code, 0, said)
        self.assertEqual((self.top / "loaded").read_text(), "/handover.ko torture_type=twa runs=2\n")
        self.assertEqual([line for line in said.splitlines() if line.startswith("look")], ["look 1", "look 2"])
        told = self.told(said)
        self.assertEqual([told["writers"], told["summary"], told["results"][0]], [["by writer"], ["the table"], "a,b,c,d,e,f,g,failures"])
        self.assertIn("state: done", told["status"])

    def test_each_way_to_fail_has_its_exit(self):
        for due, states, more in (
                (1, [self.WELL], {"insmod": "false"}), (1, [self.WELL], {"insmod": ":"}),
                (2, ["running\nruns: 0 of 2"], {}), (2, ["running\nruns: 0 of 2"] * 3 + [self.WELL], {}),
                (3, [self.WELL], {"rmmod": "false"}), (4, [self.WELL], {"rmmod": ":"}),
                (5, [self.WELL], {"failures": "0+1"}), (5, [self.WELL], {"failures": "1+0"}),
                (5, ["failed: 1 run\nruns: 2 of 2"], {"failures": "0+12"}),
                (6, ["failed: given up: ETIMEDOUT\nruns: 2 of 2"], {}), (6, ["done\nruns: 1 of 2"], {}), (6, ["stopped\nruns: 2 of 2"], {})):
            code, said = self.run_of(*states, **more)
            self.assertEqual(code, due, f"{states}, {more}: {said}")

    def test_results_are_told_whatever_comes(self):
        for states, more in (([self.WELL], {"rmmod": "false"}), (["failed: given up\nruns: 0 of 2"], {}), ([self.WELL], {"failures": "3"})):
            self.assertEqual(set(self.told(self.run_of(*states, **more)[1])), {"results", "writers", "summary", "status"})


# Each file of the module says which file it is, and the words of the experiment.
MODULE = """
    top={top}
    experiment() {{ mkdir -p $top/debug && for file in uncontended results latency status; do echo "$file $*" >$top/debug/$file; done; }}
    insmod() {{ shift; experiment "$@"; }}
    rmmod() {{ rm -r $top/debug; }}
    """


class Bench(Jobs):
    def test_each_file_is_of_its_experiment(self):
        # A file of which the next reader sees what was written to it: the module's words.
        self.write("verdict", f"""debug={self.debug}
            await() {{
                [ ! -e $debug/control ] || {{ words=$(cat $debug/control); experiment $words; rm -f $debug/control; }}
                echo "$1 $2 $(cat $debug/status)" >>{self.top}/awaited
            }}
            tell_file() {{ echo "@@ file $1"; cat "$2"; echo "@@ end"; }}""")
        code, said = self.sh(MODULE.format(top=self.top) + self.moved("bench.sh"), 7, "twa,mcs")
        self.assertEqual(code, 0, said)
        self.assertFalse(self.debug.exists())
        files = {name: (line.split()[0], dict(word.split("=") for word in line.split()[1:])) for name, (line,) in self.told(said).items()}
        pair = {"experiment": "uncontended", "torture_type": "twa,mcs", "runs": "7"}
        writers = {"torture_type": "twa,mcs", "nwriters_stress": "1,2,4", "duration": "1", "runs": "1"}
        times = {"torture_type": "twa,mcs", "nwriters_stress": "2", "duration": "1", "runs": "5", "latency": "1"}
        self.assertEqual(files, {"uncontended": ("uncontended", pair), "status": ("status", pair), "writers": ("results", writers),
                                 "writers-status": ("status", writers), "latency": ("latency", times), "latency-status": ("status", times)})
        # Each has twice the time of its runs, of all locks that there are.
        text = "".join((GUEST.parents[1] / name).read_text() for name in ("rust/locks/list.rs", "rust/linux/harness/registry.rs"))
        locks = len(re.findall(r"^ +[a-z0-9_]+: .* = (?:usual|more), ", text, re.MULTILINE))
        self.assertGreater(locks, 8)
        waits = [line.split() for line in (self.top / "awaited").read_text().splitlines()]
        self.assertEqual([wait[0] for wait in waits], ["done"] * 3)
        for wait in waits:
            words = dict(word.split("=") for word in wait[3:])
            if "duration" in words:
                runs = locks * len(words["nwriters_stress"].split(",")) * int(words["runs"])
                self.assertGreaterEqual(int(wait[1]), 2 * runs * int(words["duration"]), words)

    def test_an_experiment_without_an_end_is_none(self):
        """The first step that fails ends the job, and says which by its exit."""
        steps = ("insmod", "await", "rmmod", "insmod", "await", "control", "await", "rmmod")
        for failing, step in enumerate((*steps, None), 1):
            self.write("verdict", f"""debug={self.debug}
                n=0
                step() {{ n=$((n + 1)); [ $n -ne {failing} ]; }}
                await() {{ step && [ $n -ne 5 ] || {{ [ $n -eq 5 ] || return; n=6; rm -rf $debug/control; [ {failing} -ne 6 ] || mkdir $debug/control; [ {failing} -ne 5 ]; }}; }}
                tell_file() {{ :; }}""")
            shutil.rmtree(self.debug, ignore_errors=True)
            module = f"insmod() {{ step && mkdir -p {self.debug}; }}\nrmmod() {{ step && rm -rf {self.debug}; }}\n"
            code = self.sh(module + self.moved("bench.sh"), 7, "twa")[0]
            self.assertEqual(code, failing if step else 0, step)


class Calibrate(Jobs):
    LINES = [(10.25, 1000), (11.25, 3000), (12.5, 7000), (13.75, 9000), (14.0, 9500)]

    # Of their steps' time to ours, where a run takes 3.5 s.
    TIMES = round((3.5 / 8000 - 3.5 / 80000) / (3.5 / 30000 - 3.5 / 70000), 2)

    def calibrated(self, rounds, lines=None, end="SUCCESS", empty=70000, fails="nothing"):
        """(exit, said, rows), where locktorture logs these lines, of an empty section ten times as many; and ours has so many of
        those, and 30,000 of others."""
        logged = "".join(f"[   {at:.6f}] raw_spin_lock-torture: Writes:  Total: {count} Max/Min: 7/5 Fail: 0 \n" for at, count in lines or self.LINES)
        self.write("log", logged + f"[   15.0] raw_spin_lock-torture:--- End of test: {end}: nwriters_stress=1\n")
        functions = f"""
            top={self.top}
            insmod() {{ case "insmod $1" in *{fails}) return 1 ;; esac; echo "$*" >>$top/loaded; mkdir -p $top/debug; echo facts >$top/debug/status; }}
            rmmod() {{ case "rmmod $1" in *{fails}) return 1 ;; esac; echo "rmmod $1" >>$top/loaded; }}
            usleep() {{ echo "$1" >>$top/slept; }}
            """
        job = self.moved("calibrate.sh").replace(f". {self.top}/verdict", f""". {self.top}/verdict
            mark() {{ :; }}
            since() {{ case $(grep /locktorture.ko $top/loaded | tail -n 1) in *cs_steps=0*) sed -E 's/(Total: [0-9]*)/\\10/' $top/log ;; *) cat $top/log ;; esac; }}
            await() {{
                awaited=$((${{awaited:-0}} + 1))
                [ {fails} != end ] || [ $awaited -ne 5 ] || return 1
                cat $debug/control >>$top/loaded
                echo seconds,acquisitions >$debug/results
                case $(cat $debug/control) in *cs_steps=0*) echo 3.5,{empty} ;; *) echo 3.5,30000 ;; esac >>$debug/results
            }}
            """)
        for name in ("loaded", "slept"):
            self.write(name, "")
        code, said = self.sh(functions + job, rounds)
        rows = list(csv.DictReader(self.told(said).get("calibration", [])))
        return code, said, rows

    def test_rows(self):
        code, said, rows = self.calibrated(2)
        self.assertEqual(code, 0, said)
        scaled = f"{self.TIMES:.2f}"
        points = [("steps", "1", "0", "0", "1"), ("steps", "1", "20", "400", "1"), ("steps", "2", "20", "400", "1"),
                  ("time", "1", "20", "400", scaled), ("time", "2", "20", "400", scaled)]
        # Who is first, turns.
        due = [(str(number), harness, *point) for number, order in ((1, ("handover", "locktorture")), (2, ("locktorture", "handover")))
               for point in points for harness in order]
        names = ("round", "harness", "same", "writers", "cs_steps", "ncs_steps", "times")
        self.assertEqual([tuple(row[name] for name in names) for row in rows], due)
        for row in rows:
            # From the first line to the last that came while its writers ran.
            empty = row["cs_steps"] == "0"
            figures = {"handover": ("3.5", "70000" if empty else "30000"), "locktorture": ("3.500000", "80000" if empty else "8000")}[row["harness"]]
            self.assertEqual((row["seconds"], row["acquisitions"]), figures)

    def test_steps_that_take_no_time_are_no_measure(self):
        for empty in (30000, 20000):
            code, said, _ = self.calibrated(1, empty=empty)
            self.assertNotEqual(code, 0)
            self.assertIn("not ok both harnesses ran", said)

    def test_the_factor_is_of_its_round_and_of_one_writer(self):
        function = re.search(r"(?ms)^as_long\(\) \{.*?^\}\n", (GUEST / "calibrate.sh").read_text())[0]
        draw = random.Random(5)
        for _ in range(20):
            due, rows = {}, ["round,harness,same,writers,cs_steps,ncs_steps,times,seconds,acquisitions"]
            for number in range(1, 12):
                nanoseconds = {}
                for same, writers, steps in (("steps", 1, 0), ("steps", 1, 20), ("steps", 2, 20), ("time", 1, 20), ("time", 2, 20)):
                    for harness in draw.sample(("handover", "locktorture"), 2):
                        # A section without steps is the fastest.
                        of_one = draw.randrange(20, 100) if steps == 0 else draw.randrange(200, 9000)
                        nanoseconds[same, writers, harness, steps] = of_one
                        rows.append(f"{number},{harness},{same},{writers},{steps},{20 * steps},1,{of_one / 1000},1000000")
                ours, theirs = (nanoseconds["steps", 1, name, 20] - nanoseconds["steps", 1, name, 0] for name in ("handover", "locktorture"))
                due[number] = theirs / ours
            self.write("rows", "\n".join(rows) + "\n")
            number = draw.randrange(1, 12)
            code, said = self.sh(f"rows={self.top}/rows\n{function}as_long {number}")
            self.assertEqual(code, 0, said)
            self.assertLessEqual(abs(float(said) - due[number]), 0.00501)

    def test_both_have_the_same_work(self):
        self.calibrated(1)
        loaded = [line.split() for line in (self.top / "loaded").read_text().splitlines()]
        words = [dict(word.split("=") for word in line if "=" in word) for line in loaded]
        ours = [each for each, line in zip(words, loaded) if line[0].startswith("torture_type")]
        theirs = [each for each, line in zip(words, loaded) if line[0].endswith("/locktorture.ko")]
        self.assertEqual(len(ours), 5)
        # Ours has no word for what theirs does not do, such as other checks.
        self.assertEqual({name for each in ours for name in each}, {"torture_type", "nwriters_stress", "cs_steps", "ncs_steps", "duration", "runs"})
        (module,) = [each for each, line in zip(words, loaded) if line[0].endswith("/handover.ko")]
        self.assertEqual(set(module), {"experiment", "stat_interval", "verbose"})
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            for name in ("torture_type", "nwriters_stress"):
                self.assertEqual(one[name], other[name])
            # To the nearest step.
            for name in ("cs_steps", "ncs_steps"):
                self.assertLessEqual(abs(int(one[name]) - int(other[name]) * (1 if number < 3 else self.TIMES)), 0.5)
            self.assertEqual(one["torture_type"], "raw_spin_lock")
            # Nothing perturbs.
            for name in ("stutter", "shuffle_interval", "onoff_interval", "long_hold", "nested_locks", "rt_boost", "call_rcu_chains", "acq_writer_lim"):
                self.assertEqual(other[name], "0", name)
            self.assertEqual((one["duration"], one["runs"], other["stat_interval"]), ("3", "1", "1"))
        # Long enough for four lines.
        self.assertGreater(min(int(line) for line in (self.top / "slept").read_text().split()), 4_000_000)

    def test_what_cannot_be_loaded_or_ended_fails(self):
        for fails in ("torture/torture.ko", "handover.ko", "locktorture.ko", "'rmmod locktorture'", "end", "'rmmod handover'", "'rmmod torture'"):
            code, said, rows = self.calibrated(1, fails=fails)
            self.assertNotEqual(code, 0, fails)
            if "ko" not in fails or "locktorture.ko" in fails:
                name = "unloaded" if fails in ("'rmmod handover'", "'rmmod torture'") else "both harnesses ran"
                self.assertEqual([line.split(":")[0] for line in said.splitlines() if line.startswith("not ok")], [f"not ok {name}"])
            else:
                self.assertEqual((said, rows), ("", []))

    def test_a_run_that_is_none_fails(self):
        for lines, end in ((self.LINES[:3], "SUCCESS"), (self.LINES, "FAILURE"), (self.LINES, "RCU_HOTPLUG")):
            code, said, _ = self.calibrated(1, lines, end)
            self.assertNotEqual(code, 0)
            self.assertIn("not ok both harnesses ran", said)


class Verdict(Jobs):
    """What all jobs share."""

    def of(self, text, **functions):
        """(exit, said) of a few words of a job."""
        self.debug.mkdir(exist_ok=True)
        head = "".join(f"{name}() {{ {body}; }}\n" for name, body in functions.items())
        return self.sh(f". {self.top}/verdict\n{head}{text}")

    def hold(self, runs, state="done"):
        self.debug.mkdir(exist_ok=True)
        self.table("debug/results", [row for row, _ in runs])
        self.table("debug/writers", [writer for _, writers in runs for writer in writers])
        self.write("debug/status", f"facts: none\nstate: {state}\n")
        return self.of("rows_hold")

    def runs(self):
        draw = random.Random(3)
        # Columns 1 to 3 are the row's key; 8 is its failures.
        self.assertEqual((COLUMNS[:3], COLUMNS[7]), (["lock", "writers", "run"], "failures"))
        return [a_run("twa", 1, [draw.randrange(10, 10 ** 6) for _ in range(3)]), a_run("twa", 2, [0, 40]),
                a_run("busted", 1, [9, 1], owner=3, order=2, wait=5, dead=4), a_run("mcs", 1, [17])]

    def test_rows_of_whole_runs_hold(self):
        for state in ("done", "stopped", "failed: 1 run"):
            self.assertEqual(self.hold(self.runs(), state), (0, ""), state)

    def test_each_number_counts(self):
        for index in range(len(self.runs())):
            columns = ["acquisitions", "failures", "owner_failures", "order_failures", "counter_failures", "progress_failures", "wait_failures",
                       "deadlock_failures", "hung"]
            for column in columns:
                for off in (1, -1):
                    runs = self.runs()
                    row = runs[index][0]
                    row[column] = str(int(row[column]) + off)
                    self.assertNotEqual(self.hold(runs)[0], 0, f"{row['lock']} {row['run']}: {column} by {off}")
            # Of the kinds that writers have: one that no writer has, or one less, and the sum is right.
            for column in ("owner_failures", "order_failures", "wait_failures", "deadlock_failures"):
                for off in (1, -1):
                    runs = self.runs()
                    row = runs[index][0]
                    row.update({name: str(int(row[name]) + off) for name in (column, "failures")})
                    self.assertNotEqual(self.hold(runs)[0], 0, f"{row['lock']} {row['run']}: {column} and failures by {off}")
            for place in range(len(self.runs()[index][1])):
                for column in ("acquisitions", "owner_failures", "order_failures", "wait_failures", "deadlock_failures", "writer"):
                    runs = self.runs()
                    writer = runs[index][1][place]
                    writer[column] = str(int(writer[column]) + 1)
                    self.assertNotEqual(self.hold(runs)[0], 0, f"{writer}: {column}")

    def test_what_no_run_can_have(self):
        for column, value in (("min", "41"), ("max", "19"), ("jain", "1.000001"), ("jain", "0.499998"), ("seconds", "3.000001"), ("seconds", "0.999999")):
            runs = self.runs()
            runs[1][0][column] = value
            self.assertNotEqual(self.hold(runs)[0], 0, f"{column} {value}")
        for column, value in (("seconds", "3.000000"), ("seconds", "1.000000"), ("jain", "0.500000"), ("jain", "1.000000")):
            runs = self.runs()
            runs[1][0][column] = value
            self.assertEqual(self.hold(runs), (0, ""), f"{column} {value}")
        # One that was stopped may be short.
        runs = self.runs()
        runs[1][0]["seconds"] = "0.5"
        self.assertEqual(self.hold(runs, "stopped"), (0, ""))
        # All acquisitions of a writer count, as if there were no warm-up; or more than all.
        for total in (0, -1):
            runs = self.runs()
            runs[0][1][1]["total"] = str(int(runs[0][1][1]["acquisitions"]) + total)
            self.assertNotEqual(self.hold(runs)[0], 0, total)

    def test_a_column_that_is_gone(self):
        for file in ("results", "writers"):
            for kind in ("owner", "order", "wait", "deadlock"):
                self.hold(self.runs())
                path = self.debug / file
                path.write_text(path.read_text().replace(f"{kind}_failures", "other"))
                self.assertNotEqual(self.of("rows_hold")[0], 0, f"{file}: {kind}")

    def test_each_writer_is_of_a_row(self):
        for place in range(len(self.runs())):
            runs = self.runs()
            row, writers = runs.pop(place)
            self.assertEqual(self.hold(runs), (0, ""))
            # Writers of no row, and a row with a writer less.
            self.table("debug/writers", [writer for _, each in [*runs, (row, writers)] for writer in each])
            self.assertNotEqual(self.of("rows_hold")[0], 0)
            runs.append((row, writers[:-1]))
            if len(writers) > 1:
                self.assertNotEqual(self.hold(runs)[0], 0)

    def test_await_is_until_the_state_and_then_of_the_rows(self):
        self.hold(self.runs(), "running")
        code, said = self.of("await done 3", sleep="echo slept")
        self.assertEqual((code, said.splitlines()), (1, ["slept"] * 3 + ["not done after 3 s: facts: none"]))
        self.assertEqual(self.of("await done 3", sleep="echo 'state: done' >$debug/status"), (0, ""))
        self.assertEqual(self.of("await '[dhf]' 3", sleep="echo 'state: failed: x' >$debug/status"), (0, ""))
        runs = self.runs()
        runs[2][0]["acquisitions"] = "11"
        self.hold(runs)
        self.assertNotEqual(self.of("await done 3")[0], 0)

    def test_a_fact_is_what_it_is(self):
        self.hold(self.runs())
        self.write("debug/status", 'facts: kernel=7 isolated_cpus=3 cpus=2 cpu="a b" none=\nother cpus=9\n')
        for name, value in (("kernel", "7"), ("cpus", "2"), ("isolated_cpus", "3")):
            self.assertEqual(self.of(f"fact {name}"), (0, value + "\n"))
            self.assertEqual(self.of(f"is {name} {value}"), (0, ""))
            code, said = self.of(f"is {name} 4")
            self.assertEqual((code, said), (1, f"{name}={value}, where it is '4'\n"))
        self.assertNotEqual(self.of("is absent 4")[0], 0)

    def test_columns_and_what_was_done(self):
        self.write("debug/results", "lock,run,perturbed\ntwa,1,stutters=3+locks=7+nested=12\nmcs,2,none\nclh,3,locks=8\n")
        self.assertEqual(self.of("column run"), (0, "1\n2\n3\n"))
        self.assertEqual(self.of("column lock"), (0, "twa\nmcs\nclh\n"))
        self.assertIn("no column failures", self.of("column failures")[1])
        self.assertEqual(self.of("did locks"), (0, "7\n8\n"))
        self.assertEqual(self.of("did nested"), (0, "12\n"))
        self.assertEqual(self.of("did boosts"), (0, "0\n"))

    def test_what_is_wrong_is_said(self):
        for change, due in ((lambda row, _: row.update(seconds="3.5"), "row twa,2,2: 3.5 s of 1"), (lambda row, _: row.update(seconds="0.5"), "row twa,2,2: 0.5 s of 1"),
                            (lambda row, _: row.update(acquisitions="41"), "row twa,2,2: 41 are not its writers 40"), (lambda row, _: row.update(min="41"), "row twa,2,2: least or most"),
                            (lambda row, _: row.update(jain="2"), "row twa,2,2: jain"), (lambda row, _: row.update(failures="1"), "row twa,2,2: failures"),
                            (lambda row, _: row.update(wait_failures="1", failures="1"), "row twa,2,2: its writers have 0 failures of wait"),
                            (lambda _, writers: writers[1].update(writer="3"), "row twa,2,2: writer 3 is number 2"), (lambda _, writers: writers[1].update(total="39"), "row twa,2,2: more than all"),
                            (lambda _, writers: writers[1].update(total="40"), "row twa,2,2: the warm-up counts"), (lambda _, writers: writers.pop(), "row twa,2,2: 1 writers"),
                            (lambda _, writers: writers.clear(), "row twa,2,2: 0 writers")):
            runs = self.runs()
            change(*runs[1])
            self.assertEqual(self.hold(runs), (1, due + "\n"))
        runs = self.runs()
        self.hold(runs)
        self.table("debug/results", [row for row, _ in runs[:1]])
        self.assertEqual(self.of("rows_hold"), (1, "8 writers of 3\n"))

    def test_an_experiment_is_loaded_and_kept_and_unloaded(self):
        self.hold(self.runs())
        commands = {"insmod": "echo insmod $*", "rmmod": "echo rmmod $*", "sleep": ":"}
        self.assertEqual(self.of("experiment 3 a=1 b=2", **commands), (0, "insmod /handover.ko stat_interval=0 a=1 b=2\nrmmod handover\n"))
        for name in ("results", "writers"):
            self.assertEqual((self.top / "tmp" / name).read_text(), (self.debug / name).read_text())
        self.assertEqual(self.of("experiment 3 a=1", **commands | {"insmod": "return 7"}), (1, ""))
        self.write("debug/status", "state: running\n")
        self.assertEqual(self.of("experiment 3 a=1", **commands), (1, "insmod /handover.ko stat_interval=0 a=1\nnot [dhf] after 3 s: state: running\n"))
        for state in ("done", "hung: x", "failed: y"):
            self.write("debug/status", f"state: {state}\n")
            self.assertEqual(self.of("experiment 3", **commands)[0], 0, state)

    def test_the_best_of_two(self):
        asked = "echo $* >asked; printf 'a,b,c,d,e\\n1,2,3,4,50\\n1,2,3,4,70\\n' >/tmp/results".replace("/tmp", f"{self.top}/tmp")
        self.assertEqual(self.of("best 9 20 400; best 60 20 400 2", experiment=asked), (0, "50\n60\n"))
        self.assertEqual((self.top / "asked").read_text(), "60 torture_type=twa nwriters_stress=2 duration=1 runs=1 cs_steps=20 ncs_steps=400\n")
        self.assertEqual(self.of("best 9 20 400", experiment="return 3"), (1, ""))

    def test_counts_of_what_is_kept(self):
        self.write("tmp/results", "1,2,3,4,5,6,7,failures\n1,2,3,4,5,0,7,0\n1,2,3,4,5,6,7,9\n1,2,3,4,5,6,7,0\n")
        self.assertEqual(self.of("rows; failing; idle"), (0, "3\n1\n1\n"))
        self.write("tmp/results", "1,2,3,4,5,0,7,1\n1,2,3,4,5,0,7,9\n")
        self.assertEqual(self.of("rows; failing; idle"), (0, "1\n1\n1\n"))
        for text, due in (("1,3-5", 4), ("", 0), ("0", 1), ("0-1,7", 3)):
            self.write("list", text + "\n")
            self.assertEqual(self.of("count_list list"), (0, f"{due}\n"), text)

    def test_since_is_what_came_after_the_mark(self):
        for log, due in (("a b c d", "c d"), ("x b y b z", "z"), ("c d", "c d"), ("a b", "")):
            functions = {"dmesg": f"printf '%s\\n' {log}"}
            self.assertEqual(self.of("marked=b; since", **functions), (0, "".join(f"{line}\n" for line in due.split())), log)
        self.assertEqual(self.of("mark; echo $marked", dmesg="printf '%s\\n' one two"), (0, "two\n"))

    def test_a_verdict_is_its_commands(self):
        code, said = self.of("verdict one true; verdict two eval 'echo why; echo so; false'; verdict three false; finish")
        self.assertEqual((code, said), (1, "ok one\nnot ok two: why so\nnot ok three: \n@@ verdicts 3\n"))
        self.assertEqual(self.of("verdict one true; finish"), (0, "ok one\n@@ verdicts 1\n"))
        # Of those that were asked for.
        self.assertEqual(self.of("only=t?o; verdict one false; verdict two true; finish"), (0, "ok two\n@@ verdicts 1\n"))


class Machine(Jobs):
    """What verdict.sh finds out of a guest, whose /proc and /sys the test makes."""

    def setUp(self):
        super().setUp()
        self.debug.mkdir()
        text = (self.top / "verdict").read_text()
        for name in ("/proc/", "/sys/", "/locks"):
            text = text.replace(f" {name}", f" {self.top}{name}").replace(f"<{name}", f"<{self.top}{name}").replace(f"={name}", f"={self.top}{name}")
        self.write("verdict", text.replace("$(cat /sys/", f"$(cat {self.top}/sys/"))

    def write(self, name, text):
        (self.top / name).parent.mkdir(parents=True, exist_ok=True)
        (self.top / name).write_text(text)

    def of(self, text, **functions):
        head = "".join(f"{name}() {{ {body}; }}\n" for name, body in functions.items())
        return self.sh(f". {self.top}/verdict\n{head}{text}")

    STOCK, RT = ({"uname": f"[ $1 = -v ] && echo '#1 SMP {model} Debian 7.3.4-1'"} for model in ("PREEMPT_LAZY", "PREEMPT_RT"))

    def test_the_locks_of_a_kind(self):
        self.write("locks", "ticket usual\nspin_lock usual\nmcs more\nbusted control\ntwa_irq irq\n")
        for kernel, without in ((self.STOCK, ""), (self.RT, "spin_lock ")):
            for kind, due in (("", "ticket spin_lock mcs busted twa_irq "), ("usual", "ticket spin_lock "), ("more", "mcs "), ("control", "busted "),
                              ("irq", "twa_irq "), ("lock", "ticket spin_lock mcs "), ("none", "")):
                self.assertEqual(self.of(f"locks {kind}", **kernel), (0, due.replace(without, "", 1).replace(" ", "\n")), kind)

    def test_a_packed_file_is_whole(self):
        text = "".join(f"line {number}\n" for number in range(1000))
        self.write("file", text)
        code, said = self.of("tell_packed name file")
        lines = said.splitlines()
        self.assertEqual((code, lines[0], lines[-1]), (0, "@@ file name.gz.b64", "@@ end"))
        self.assertEqual(gzip.decompress(base64.b64decode("".join(lines[1:-1]))).decode(), text)

    def test_what_goes_on_is_waited_for(self):
        """Each look finds the next of these states."""
        starts, goes, ends = "state: running\\n", "state: running\\nnow: twa, 2 writers, %s acquisitions\\n", "state: failed: x\\n"
        def looks(*states):
            steps = " ".join(f"{number}) printf '{state}' >$debug/status ;;" for number, state in enumerate(states, 1))
            return {"usleep": f"look=$((look + 1)); case $look in {steps} esac"}
        for words, states, due in (("begun twa=1", [starts, goes % 0], (0, "2\n")), ("begun a=1 b=2", [starts, ends, goes % 1], (1, "state: failed: x\n2\n")),
                                   ("acquires", [goes % 0, goes % 107], (0, "2\n")), ("acquires", [goes % 0, goes % 10], (0, "2\n")),
                                   ("acquires", [goes % 0, ends], (1, "state: failed: x\n2\n"))):
            self.write("debug/status", "state: running\n")
            self.assertEqual(self.of(f"look=0; {words}; code=$?; echo $look; exit $code", **looks(*states)), due, (words, states))
        self.assertEqual((self.debug / "control").read_text(), "torture_type=twa nwriters_stress=2 runs=1 a=1 b=2\n")
        self.write("debug/status", "state: running\n")
        self.write("debug/results", "head\n")
        self.assertEqual(self.of("rows_come 2; echo $look", usleep="look=$((look + 1)); echo row >>$debug/results"), (0, "2\n"))
        self.assertEqual(self.of("rows_come 4", usleep="echo 'state: done' >$debug/status"), (1, "state: done\n"))
        # A control that refuses is no experiment.
        (self.debug / "control").unlink()
        (self.debug / "control").mkdir()
        self.assertNotEqual(self.of("begun twa=1", usleep="exit 9")[0], 9)

    def test_all_looks_are_kept(self):
        self.write("debug/status", "now: twa, 2 writers, 17 acquisitions\n")
        self.write("tmp/seen", "of before\n")
        self.write("proc/uptime", "7.50 29.00\n")
        code, said = self.of("seen acquired", usleep="look=$((look + 1)); [ $look -lt 3 ] || echo 'state: done' >$debug/status", **{"await": 'echo "await $*"'})
        self.assertEqual((code, said), (0, "await [df] 20\n"))
        self.assertEqual((self.top / "tmp/seen").read_text(), "7.50 17\n" * 3)

    def test_the_longest_time_without_a_change(self):
        for looks, due in (("1.00 5\n1.25 5\n1.50 6\n2.00 6\n2.25 7\n", "50\n"), ("1.00 5\n1.25 5\n", "25\n"), ("1.00 5\n1.25 6\n", "0\n"), ("1.00 5\n", ""), ("", "")):
            self.write("tmp/seen", looks)
            self.assertEqual(self.of("still"), (0, due), looks)

    def test_errors_have_names_where_the_kernel_has(self):
        for symbols, due in (("0 t errname\n", "EINVAL"), ("0 t errnames\n0 t my_errname2\n", "Error(-22)")):
            self.write("proc/kallsyms", symbols)
            self.assertEqual(self.of("errname EINVAL -22"), (0, due + "\n"))

    def test_threads_that_write(self):
        for pid, name, cpus in ((7, "ho_writer/0", "1"), (8, "ho_writer/1", "0-3"), (9, "ho_control", "2"), (10, "other ho_writer/3", "3")):
            self.write(f"proc/{pid}/status", f"Name:\t{name}\nState:\tR\nCpus_allowed:\tf\nCpus_allowed_list:\t{cpus}\n")
        self.assertEqual(sorted(self.of("writers")[1].split()), [f"{self.top}/proc/{pid}/status" for pid in (7, 8)])
        self.assertEqual(sorted(self.of("where")[1].split()), ["0-3", "1"])

    def test_what_slows_locks_down(self):
        """By what the kernel shows of it."""
        signs = {"LOCKDEP": ("proc/lockdep", ""), "DEBUG_SPINLOCK": (None, "do_raw_spin_lock"), "DEBUG_PREEMPT": (None, "debug_smp_processor_id"),
                 "LOCK_STAT": ("proc/lock_stat", ""), "KASAN": (None, "kasan_report"), "KCSAN": (None, "kcsan_disable_current")}
        for sign in (*signs, "PREEMPT_RT", "none", "all"):
            shutil.rmtree(self.top / "proc", ignore_errors=True)
            has = {it: it in (sign, "all") or sign == "all" for it in (*signs, "PREEMPT_RT")}
            self.write("proc/kallsyms", "0 t start\n0 t not_do_raw_spin_lock_either2\n" + "".join(f"0 T {symbol}\n" for it, (_, symbol) in signs.items() if symbol and has[it]))
            for it, (file, _) in signs.items():
                if file and has[it]:
                    self.write(file, "")
            due = ",".join(it for it, is_there in has.items() if is_there) or "none"
            kernel = self.RT if has["PREEMPT_RT"] else self.STOCK
            self.write("debug/status", f"facts: spoiled_by={due}\n")
            self.assertEqual(self.of("spoiled", **kernel), (0, ""), sign)
            self.write("debug/status", "facts: spoiled_by=KASAN,LOCKDEP\n")
            self.assertEqual(self.of("spoiled", **kernel), (1, f"spoiled_by=KASAN,LOCKDEP, where it is '{due}'\n"), sign)

    def test_the_preemption_model(self):
        self.assertEqual(self.of("preempt_model", **self.RT), (0, "rt\n"))
        for model, due in (("PREEMPT_LAZY", "lazy"), ("PREEMPT_DYNAMIC", "full"), ("PREEMPT", "full"), ("", "none")):
            self.assertEqual(self.of("preempt_model", uname=f"echo '#1 SMP {model} Debian'"), (0, due + "\n"))
        self.write("sys/kernel/debug/sched/preempt", "none voluntary full (lazy) \n")
        self.assertEqual(self.of("preempt_model", uname="echo '#1 SMP PREEMPT_DYNAMIC'"), (0, "lazy\n"))

    def test_the_mitigations_that_calls_pay_for(self):
        at, kallsyms = "sys/devices/system/cpu/vulnerabilities", "proc/kallsyms"
        self.write("proc/cmdline", "console=ttyS0\n")
        self.write(kallsyms, "0 t cpu_mitigations_off\n")
        self.write(f"{at}/a", "Not affected\n")
        self.assertEqual(self.of("mitigations"), (0, "none\n"))
        self.write("proc/cmdline", "mitigations=off\n")
        self.assertEqual(self.of("mitigations"), (0, "off\n"))
        self.write("proc/cmdline", "console=ttyS0\n")
        self.write(kallsyms, "0 t other\n")
        self.assertEqual(self.of("mitigations"), (0, "off\n"))
        for text, due in (("Mitigation: Retpolines; STIBP", "retpoline"), ("Mitigation: untrained return thunk", "rethunk"), ("Mitigation: Safe RET", "rethunk"),
                          ("Mitigation: IBRS", "ibrs"), ("Mitigation: PTI", "pti"), ("Mitigation: Retpolines\nMitigation: Safe RET\nMitigation: IBRS\nMitigation: PTI",
                                                                                    "retpoline,rethunk,ibrs,pti")):
            self.write(f"{at}/b", text + "\n")
            self.assertEqual(self.of("mitigations"), (0, due + "\n"), text)

    def test_leaks_are_counted(self):
        leak = self.top / "sys/kernel/debug/kmemleak"
        self.write("sys/kernel/debug/kmemleak", "")
        # A scan is written, and found by the one who sleeps.
        sleep = f"echo slept $1, $(cat {leak}) >>slept; printf '%s' \"$FOUND\" >{leak}"
        self.assertEqual(self.of("FOUND=; unreferenced", sleep=sleep), (0, ""))
        self.assertEqual((self.top / "slept").read_text(), "slept 6,\n" + "slept 1, scan\n" * 4)
        code, said = self.of("FOUND='unreferenced object 1\n  by unreferenced\nunreferenced object 2'; unreferenced", sleep=sleep)
        self.assertEqual((code, said), (0, "2 objects: unreferenced object 1\n  by unreferenced\nunreferenced object 2\n"))
