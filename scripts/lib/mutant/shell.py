# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""Commands of the tree, and copies of it. Everything is below the clone's build/, which the toolbox sees at /handover."""

import os
import pathlib
import shutil
import signal
import subprocess
import threading

IN_TOP = "/handover"
IN_CACHE = "/cache"


class Shell:
    """Runs commands from the clone's top; stop() ends those that run, with what they started."""

    def __init__(self, top):
        self.top = pathlib.Path(top)
        self.running = set()
        self.lock = threading.Lock()
        self.stopped = False

    def run(self, log, *command, env=None, append=False, only_out=None):
        """The exit status; output goes to the file `log` (standard output to `only_out`, where that is named)."""
        log = self.top / log
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "ab" if append else "wb") as said, open(self.top / (only_out or log), "ab") as out:
            with self.lock:
                if self.stopped:
                    return 130
                process = subprocess.Popen(
                    [str(word) for word in command], cwd=self.top, stdin=subprocess.DEVNULL,
                    stdout=out if only_out else said, stderr=said, env={**os.environ, **(env or {})},
                    start_new_session=True)
                self.running.add(process)
            try:
                return process.wait()
            finally:
                with self.lock:
                    self.running.discard(process)

    def ask(self, log, *command, env=None):
        """(exit status, standard output); what else was said goes to the file `log`."""
        out = f"{log}.out"
        (self.top / out).unlink(missing_ok=True)
        rc = self.run(log, *command, env=env, only_out=out)
        return rc, read(self.top / out)

    def stop(self):
        with self.lock:
            self.stopped = True
            for process in self.running:
                try:
                    os.killpg(process.pid, signal.SIGTERM)
                except ProcessLookupError:
                    pass

    def inside(self, path):
        """A path below the top, as the toolbox sees it."""
        return f"{IN_TOP}/{path}"

    def discard(self, path):
        """Removes a folder below build/, read-only parts too."""
        assert str(path).startswith("build/")
        path = self.top / path
        if path.exists():
            for folder, _, _ in os.walk(path):
                os.chmod(folder, 0o755)
            shutil.rmtree(path)

    def copy(self, tree, *names):
        """A new folder below build/ with these files and folders of the clone."""
        self.discard(tree)
        for name in names:
            target = self.top / tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (self.top / name).is_dir():
                shutil.copytree(self.top / name, target, symlinks=True, ignore=shutil.ignore_patterns("target"))
            else:
                shutil.copy2(self.top / name, target)
        return self.top / tree


def read(path):
    """A file's text, whatever its bytes are; nothing where there is none."""
    try:
        return pathlib.Path(path).read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return ""
