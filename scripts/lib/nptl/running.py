# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""running.py RUN LIBRARY CSV [TEST...] -- TESTS... : runs glibc's tests of the folders TESTS, or those named, without the library
and under each of its locks by the program RUN. A verdict a line; the table goes to CSV."""

import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

if __package__ is None or __package__ == "":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from nptl import judging

AT_ONCE = 2
# A test's driver ends it after 20 s, or after what the test says, times this factor.
FACTOR = 6
# What ends a test whose driver does not.
LIMIT_S = 600
# The control: with mutexes alone replaced, this test of condition variables hangs or fails.
ALONE, ALONE_S = "tst-cond2", 20


def end_session(leader):
    """Ends all processes of a session: a test's processes are of several groups."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(process.name)) == leader:
                os.kill(int(process.name), signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def run(command, env, limit=LIMIT_S):
    """How the command ends, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TMPDIR": folder, "TIMEOUTFACTOR": str(FACTOR), **env})
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        end_session(process.pid)
        process.wait()
        said.seek(0)
        return judging.Ended(status, said.read().decode(errors="replace"))


def locks_of(library):
    """The names of the library's locks, by what it says of a wrong one."""
    said = run(["true"], {"LD_PRELOAD": str(library), "HANDOVER_LOCK": "?"}).said
    allowed = said.strip().partition(": allowed: ")[2]
    if not allowed:
        sys.exit(f"running.py: the library names no locks: {said.strip()}")
    return allowed.split(", ")


def run_all(folder, test, runner, library, locks):
    """The runs of a test: {lock: how it ended}."""
    env, program = dict(test["env"]), folder / test["name"]
    if test["modules"]:
        env["LD_LIBRARY_PATH"] = str(folder)
    if test["left_out"]:
        return {}
    ended = {judging.CONTROL: run([program], env)}
    if judging.control_says(test, ended[judging.CONTROL])[0] == judging.PASS:
        for lock in locks:
            ended[lock] = run([runner, "--library", library, "--stats", "--lock", lock, "--", program], env)
    return ended


def alone(folder, glibc, library, lock):
    """The verdict's line on the control: the library behind one that gives the condition variables back to glibc."""
    env = {"LD_PRELOAD": f"{folder}/conditions_of_glibc.so:{library}", "HANDOVER_LOCK": lock}
    ended = run([folder / ALONE, "--direct"], env, ALONE_S)
    name = f"nptl {glibc}/{ALONE}/{lock}, mutexes alone"
    return f"not ok {name}: it passes" if ended.status == 0 else f"ok {name} ({judging.first_words(ended)})"


def rows_of(glibc, test, ended, locks):
    """The rows of a test."""
    control = ended.get(judging.CONTROL)
    yield test["name"], glibc, judging.CONTROL, *judging.control_says(test, control)
    for lock in locks:
        yield test["name"], glibc, lock, *judging.judge(test, lock, control, ended.get(lock))


def line(row):
    """A verdict's line: what was not run is no check that passed."""
    test, glibc, lock, verdict, reason = row
    name = f"nptl {glibc}/{test}/{lock.replace(' ', '-')}"
    if verdict == judging.FAIL:
        return f"not ok {name}: {reason}"
    return f"# {verdict} {name}: {reason}" if verdict == judging.NOT else f"ok {name} ({verdict}: {reason})"


def main(arguments):
    split = arguments.index("--")
    (runner, library, table, *named), folders = arguments[:split], map(pathlib.Path, arguments[split + 1:])
    locks = locks_of(library)
    jobs = []
    for folder in folders:
        glibc = run([folder / "version"], {}).said.strip()
        tests = json.loads((folder / "tests.json").read_text())
        jobs += [(folder, glibc, test) for test in tests if not named or test["name"] in named]
    logs, lock_of_logs = pathlib.Path(table).with_suffix(".log"), threading.Lock()
    logs.write_text("")

    def do(job):
        folder, glibc, test = job
        began = time.monotonic()
        ended = run_all(folder, test, runner, library, locks)
        took = time.monotonic() - began
        with lock_of_logs, open(logs, "a", encoding="utf-8") as log:
            log.write(f"== {glibc}/{test['name']}: {took:.0f} s\n")
            for lock, how in ended.items():
                log.write(f"== {glibc}/{test['name']}/{lock}: {how.status}\n{how.said}\n")
        return list(rows_of(glibc, test, ended, locks))

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        rows = []
        for some in pool.map(do, jobs):
            rows += some
            print(*map(line, some), sep="\n", flush=True)
        for said in pool.map(lambda job: alone(*job), [(*job, library, lock) for job in dict.fromkeys(job[:2] for job in jobs) for lock in locks]):
            print(said, flush=True)
    with open(table, "w", encoding="utf-8", newline="") as file:
        judging.write(rows, file)


if __name__ == "__main__":
    main(sys.argv[1:])
