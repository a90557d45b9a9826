-- SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
-- The shell of SQLite: rows that are sorted by four threads, in pieces, as the cache is small.
PRAGMA threads = 4;
PRAGMA cache_size = 50;
CREATE TABLE numbers (number INTEGER, text TEXT);
WITH RECURSIVE all_numbers(number) AS (SELECT 0 UNION ALL SELECT number + 1 FROM all_numbers WHERE number < 59999)
INSERT INTO numbers SELECT number * 7919 % 60000, 'text ' || number FROM all_numbers;
CREATE INDEX by_text ON numbers (text, number);
SELECT count(*), sum(number) FROM (SELECT number, lag(number, 1, -1) OVER (ORDER BY number) AS before FROM numbers)
WHERE number = before + 1;
