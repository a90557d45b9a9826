#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""databases.py FILE : threads that write into one SQLite database, each by a connection of its own."""

import sqlite3
import sys
import threading

THREADS, ROWS = 4, 100


def writes(number):
    connection = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
    for row in range(ROWS):
        connection.execute("INSERT INTO rows VALUES (?, ?)", (number, row))
    connection.close()


first = sqlite3.connect(sys.argv[1], isolation_level=None)
first.execute("PRAGMA journal_mode=WAL")
first.execute("PRAGMA synchronous=OFF")
first.execute("CREATE TABLE rows (thread INTEGER, row INTEGER)")
threads = [threading.Thread(target=writes, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
found = first.execute("SELECT thread, count(*), sum(row) FROM rows GROUP BY thread ORDER BY thread").fetchall()
assert found == [(number, ROWS, ROWS * (ROWS - 1) // 2) for number in range(THREADS)], found
print("done")
