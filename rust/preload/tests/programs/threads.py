#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""Threads that hand on work, a pool, a child that forks and has a thread of its own."""

import concurrent.futures
import os
import queue
import subprocess
import threading

ITEMS = 3000
handed, total = queue.Queue(8), 0


def puts():
    for item in range(ITEMS):
        handed.put(item)


def gets():
    global total
    for _ in range(ITEMS):
        item = handed.get()
        with guard:
            total += item


guard = threading.Lock()
threads = [threading.Thread(target=body) for body in (puts, gets, puts, gets)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert total == ITEMS * (ITEMS - 1)
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    assert sum(pool.map(lambda number: number * number, range(1000))) == 332833500
assert subprocess.run(["true"], check=False).returncode == 0
child = os.fork()
if not child:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("done")
