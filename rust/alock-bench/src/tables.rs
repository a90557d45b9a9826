// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The tables that are written and printed at the end.

use std::fmt::Write as _;

use serde::Serialize;

use figures::alock::{Key, Lock, Medians, Table};

use crate::record::Record;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Medians of the rounds. The header is a promise.
#[derive(Serialize)]
struct Summary {
    lock: Lock,
    nodes: u16,
    threads: u16,
    locks: u32,
    locality: u8,
    throughput: f64,
    p50_ns: u64,
    p99_ns: u64,
}

#[derive(Serialize)]
struct Budgets {
    lock: Lock,
    local_budget: Option<u32>,
    remote_budget: Option<u32>,
    nodes: u16,
    threads: u16,
    locks: u32,
    locality: u8,
    throughput: f64,
    p50_ns: u64,
    p99_ns: u64,
    /// The throughput, divided by that of the first pair.
    speed_up: Option<f64>,
}

#[derive(Serialize)]
struct OfThread {
    round: u64,
    lock: Lock,
    nodes: u16,
    threads: u16,
    locks: u32,
    locality: u8,
    local_budget: Option<u32>,
    remote_budget: Option<u32>,
    rank: u16,
    thread: u16,
    operations: u64,
    seconds: f64,
    throughput: f64,
    p50_ns: u64,
    p99_ns: u64,
}

#[derive(Serialize)]
struct Latency {
    lock: Lock,
    nodes: u16,
    threads: u16,
    locks: u32,
    locality: u8,
    local_budget: Option<u32>,
    remote_budget: Option<u32>,
    /// Both empty for all threads together.
    rank: Option<u16>,
    thread: Option<u16>,
    value_ns: u64,
    count: u64,
}

fn csv_of<T: Serialize>(rows: impl Iterator<Item = T>) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    let bytes = writer.into_inner().map_err(|error| error.to_string())?;
    Ok(String::from_utf8(bytes)?)
}

/// The tables as files, by name.
pub(crate) fn files(record: &Record, table: &Table) -> Result<Vec<(&'static str, String)>> {
    let mut files = vec![("summary.csv", summary(table)?)];
    if table.has_pairs() {
        files.push(("budgets.csv", budgets(table)?));
    }
    if record.runs.iter().any(|run| !run.by_thread.is_empty()) {
        files.push(("threads.csv", threads(record)?));
    }
    if !record.points.is_empty() {
        files.push(("latency.csv", latency(record, false)?));
        files.push(("latency-threads.csv", latency(record, true)?));
    }
    Ok(files)
}

fn summary(table: &Table) -> Result<String> {
    csv_of(table.first().map(|(key, it)| Summary {
        lock: key.lock,
        nodes: key.nodes,
        threads: key.threads,
        locks: key.locks,
        locality: key.locality,
        throughput: it.throughput.median,
        p50_ns: it.p50_ns,
        p99_ns: it.p99_ns,
    }))
}

fn with_budgets(table: &Table) -> impl Iterator<Item = (&Key, &Medians)> {
    table.all.iter().filter(|(key, _)| key.budgets().is_some())
}

fn speed_up(table: &Table, key: &Key, it: &Medians) -> Option<f64> {
    Some(it.throughput.median / table.base(key)?.throughput.median)
}

fn budgets(table: &Table) -> Result<String> {
    csv_of(with_budgets(table).map(|(key, it)| Budgets {
        lock: key.lock,
        local_budget: key.local_budget,
        remote_budget: key.remote_budget,
        nodes: key.nodes,
        threads: key.threads,
        locks: key.locks,
        locality: key.locality,
        throughput: it.throughput.median,
        p50_ns: it.p50_ns,
        p99_ns: it.p99_ns,
        speed_up: speed_up(table, key, it),
    }))
}

fn threads(record: &Record) -> Result<String> {
    csv_of(record.runs.iter().flat_map(|run| {
        let key = run.row.key();
        run.by_thread.iter().map(move |it| OfThread {
            round: run.row.round,
            lock: key.lock,
            nodes: key.nodes,
            threads: key.threads,
            locks: key.locks,
            locality: key.locality,
            local_budget: key.local_budget,
            remote_budget: key.remote_budget,
            rank: it.rank,
            thread: it.thread,
            operations: it.operations,
            seconds: it.seconds,
            throughput: it.throughput,
            p50_ns: it.p50_ns,
            p99_ns: it.p99_ns,
        })
    }))
}

fn latency(record: &Record, by_thread: bool) -> Result<String> {
    csv_of(record.points.iter().flat_map(|point| {
        let key = point.key;
        let all = (!by_thread).then_some((None, None, &point.latency));
        let threads = point.by_thread.iter().filter(move |_| by_thread);
        let threads = threads.map(|it| (Some(it.rank), Some(it.thread), &it.latency));
        all.into_iter()
            .chain(threads)
            .flat_map(move |(rank, thread, counts)| {
                counts.iter().map(move |&(value_ns, count)| Latency {
                    lock: key.lock,
                    nodes: key.nodes,
                    threads: key.threads,
                    locks: key.locks,
                    locality: key.locality,
                    local_budget: key.local_budget,
                    remote_budget: key.remote_budget,
                    rank,
                    thread,
                    value_ns,
                    count,
                })
            })
    }))
}

/// What is printed: the locks side by side; and the pairs of budgets, if there are some.
pub(crate) fn text(table: &Table) -> std::result::Result<String, std::fmt::Error> {
    // The reader knows the number of nodes where all rows have the same.
    let several = table.values(|key| key.nodes).len() > 1;
    let nodes = |key: &Key| match several {
        true => format!("| {} ", key.nodes),
        false => String::new(),
    };
    let mut text = String::new();
    let head = |text: &mut String, columns: &str| {
        let first = if several { "| nodes " } else { "" };
        let rule = "|---".repeat(first.matches('|').count() + columns.matches('|').count() - 1);
        writeln!(text, "{first}{columns}\n{rule}|")
    };
    head(
        &mut text,
        "| threads a node | locks | locality | lock | acquisitions/s | least to most | median us | p99 us | throughput of ALock to its |",
    )?;
    for (key, it) in table.first() {
        let rate = it.throughput;
        // ALock stands before the others of its point.
        let alock = match key.lock {
            Lock::Alock => Some(it),
            _ => table.base(&Key {
                lock: Lock::Alock,
                ..*key
            }),
        };
        let ratio = alock.map_or("n/a".into(), |alock| {
            format!("{:.2}", alock.throughput.median / rate.median)
        });
        writeln!(
            text,
            "{}| {} | {} | {} % | {} | {:.0} | {:.0} to {:.0} | {:.1} | {:.1} | {ratio} |",
            nodes(key),
            key.threads,
            key.locks,
            key.locality,
            key.lock.name(),
            rate.median,
            rate.least,
            rate.most,
            it.p50_ns as f64 / 1000.0,
            it.p99_ns as f64 / 1000.0,
        )?;
    }
    if let (true, Some((local, remote))) = (table.has_pairs(), table.first_budgets) {
        writeln!(text)?;
        head(
            &mut text,
            &format!("| threads a node | locks | locality | budgets, local and remote | acquisitions/s | least to most | throughput to that of {local} and {remote} |"),
        )?;
        for (key, it) in with_budgets(table) {
            let Some((local, remote)) = key.budgets() else {
                continue;
            };
            let rate = it.throughput;
            let ratio = speed_up(table, key, it).map_or("n/a".into(), |it| format!("{it:.2}"));
            writeln!(
                text,
                "{}| {} | {} | {} % | {local} and {remote} | {:.0} | {:.0} to {:.0} | {ratio} |",
                nodes(key),
                key.threads,
                key.locks,
                key.locality,
                rate.median,
                rate.least,
                rate.most,
            )?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    fn of(nodes: &[u16], arguments: &str) -> (Record, Table) {
        let record = example::record(nodes, arguments);
        let table = record.table();
        (record, table)
    }

    fn file(files: &[(&str, String)], name: &str) -> Option<Vec<Vec<String>>> {
        let (_, text) = files.iter().find(|(its, _)| *its == name)?;
        let mut reader = csv::ReaderBuilder::new();
        let mut reader = reader.has_headers(false).from_reader(text.as_bytes());
        let rows = reader
            .records()
            .map(|row| row.unwrap().iter().map(Into::into).collect());
        Some(rows.collect())
    }

    #[test]
    fn summary_is_the_medians_of_the_first_pair() {
        let (record, table) = of(
            &[2],
            "--rounds 3 --threads 1 --locks 20 --locality 95,100 --remote-budget 20,5",
        );
        let files = files(&record, &table).unwrap();
        let summary = file(&files, "summary.csv").unwrap();
        assert_eq!(
            summary[0].join(","),
            "lock,nodes,threads,locks,locality,throughput,p50_ns,p99_ns"
        );
        assert_eq!(summary.len(), 1 + 2 * 3);
        for row in &summary[1..] {
            let mut rates: Vec<f64> = Vec::new();
            for run in &record.runs {
                let it = &run.row;
                if it.lock.name() == row[0]
                    && it.locality.to_string() == row[4]
                    && it.remote_budget != Some(5)
                {
                    rates.push(it.throughput);
                }
            }
            rates.sort_by(f64::total_cmp);
            assert_eq!(rates.len(), 3);
            assert_eq!(row[5].parse::<f64>().unwrap(), rates[1]);
        }
    }

    #[test]
    fn speed_up_is_to_the_first_pair_at_the_same_point() {
        let (record, table) = of(
            &[2],
            "--rounds 3 --threads 1,2 --locks 20 --locality 95,100 --local-budget 7,5 --remote-budget 20,5",
        );
        let files = files(&record, &table).unwrap();
        let budgets = file(&files, "budgets.csv").unwrap();
        // ALock's points, and no other lock's.
        assert_eq!(budgets.len(), 1 + 4 * 4);
        for row in &budgets[1..] {
            let up: f64 = row[10].parse().unwrap();
            match (&row[1][..], &row[2][..]) {
                ("7", "20") => assert_eq!(up, 1.0),
                // The local budget means nothing to the example, the remote one does.
                (_, "20") => assert!((up - 1.0).abs() < 1e-9),
                _ => assert!((up - 1.05 / 1.2).abs() < 1e-3, "{up}"),
            }
        }
        let text = text(&table).unwrap();
        assert!(text.contains("| 1 | 20 | 95 % | 5 and 5 | "), "{text}");
        assert!(text.contains("throughput to that of 7 and 20 |"), "{text}");
    }

    #[test]
    fn one_pair_has_no_table_of_its_own() {
        let (record, table) = of(&[2], "--rounds 1 --threads 1 --locks 20 --locality 95");
        assert!(file(&files(&record, &table).unwrap(), "budgets.csv").is_none());
        let text = text(&table).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 2 + 3);
        assert!(
            lines[2].starts_with("| 1 | 20 | 95 % | alock | ") && lines[2].ends_with("| 1.00 |")
        );
        assert!(lines[4].starts_with("| 1 | 20 | 95 % | rdma_mcs | "));
        let bars = |line: &str| line.matches('|').count();
        assert!(
            lines.iter().all(|line| bars(line) == bars(lines[0])),
            "{text}"
        );
    }

    #[test]
    fn several_numbers_of_nodes_have_a_column() {
        let (_, table) = of(
            &[2, 5],
            "--rounds 1 --threads 1 --locks 20 --locality 95 --remote-budget 20,5",
        );
        let text = text(&table).unwrap();
        assert!(text.starts_with("| nodes | threads a node |"));
        assert!(text.contains("| 5 | 1 | 20 | 95 % | rdma_mcs | "));
        for part in text.split("\n\n") {
            let bars = |line: &str| line.matches('|').count();
            let mut lines = part.lines();
            let first = bars(lines.next().unwrap());
            assert!(lines.all(|line| bars(line) == first), "{part}");
        }
    }

    #[test]
    fn latencies_are_there_for_all_and_by_thread() {
        let (record, table) = of(&[2], "--rounds 2 --threads 2 --locks 20 --locality 95");
        let files = files(&record, &table).unwrap();
        let count = |name| {
            let rows = file(&files, name).unwrap();
            let at = rows[0].len() - 1;
            rows[1..]
                .iter()
                .map(|row| row[at].parse::<u64>().unwrap())
                .sum::<u64>()
        };
        let operations: u64 = record.runs.iter().map(|run| run.row.operations).sum();
        assert_eq!(count("latency.csv"), operations);
        assert_eq!(count("latency-threads.csv"), operations);
        let threads = file(&files, "threads.csv").unwrap();
        assert_eq!(threads.len(), 1 + record.runs.len() * 4);
    }
}
