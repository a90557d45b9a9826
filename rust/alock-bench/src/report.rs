//! What is printed and written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;

use serde::Serialize;

use crate::point::{Found, Lock, Point};

#[derive(Debug, Serialize)]
struct Raw {
    round: u64,
    lock: Lock,
    nodes: u16,
    threads: u16,
    locks: u32,
    locality: u8,
    operations: u64,
    seconds: f64,
    throughput: f64,
    p50_ns: u64,
    p99_ns: u64,
    work_requests: u64,
    queue_pairs: u64,
    least_of_a_thread: u64,
    most_of_a_thread: u64,
}

/// Medians of the rounds.
#[derive(Debug, Serialize)]
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

/// Of each round: throughput, median and 99th percentile of the latency.
type Rounds = Vec<(f64, u64, u64)>;

/// A point without its kind of lock.
type Where = (u16, u16, u32, u8);

pub(crate) struct Report {
    raw: csv::Writer<File>,
    summary: csv::Writer<File>,
    found: BTreeMap<Where, Vec<(Lock, Rounds)>>,
}

pub(crate) fn progress(number: usize, of: usize, point: &Point, found: &Found) {
    eprintln!(
        "alock-bench: {number} of {of}: {:?}, {} threads, {} locks, {} %: {:.0}/s",
        point.lock,
        point.threads,
        point.locks,
        point.locality,
        found.throughput()
    );
}

fn median<T: PartialOrd + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values.get(values.len() / 2).copied()
}

impl Report {
    pub(crate) fn new(out: &Path) -> Result<Self, Box<dyn std::error::Error>> {
        fs::create_dir_all(out)?;
        Ok(Self {
            raw: csv::Writer::from_path(out.join("raw.csv"))?,
            summary: csv::Writer::from_path(out.join("summary.csv"))?,
            found: BTreeMap::new(),
        })
    }

    pub(crate) fn add(&mut self, round: u64, point: &Point, found: &Found) -> csv::Result<()> {
        let latency = found.latency();
        let by_thread = || found.threads.iter().map(|it| it.operations);
        let row = Raw {
            round,
            lock: point.lock,
            nodes: point.nodes,
            threads: point.threads,
            locks: point.locks,
            locality: point.locality,
            operations: found.operations(),
            seconds: found.seconds(),
            throughput: found.throughput(),
            p50_ns: latency.value_at_quantile(0.5),
            p99_ns: latency.value_at_quantile(0.99),
            work_requests: found.work_requests(),
            queue_pairs: found.queue_pairs(),
            least_of_a_thread: by_thread().min().unwrap_or(0),
            most_of_a_thread: by_thread().max().unwrap_or(0),
        };
        let place = (point.nodes, point.threads, point.locks, point.locality);
        let kinds = self.found.entry(place).or_default();
        let run = (row.throughput, row.p50_ns, row.p99_ns);
        match kinds.iter_mut().find(|(lock, _)| *lock == point.lock) {
            Some((_, runs)) => runs.push(run),
            None => kinds.push((point.lock, vec![run])),
        }
        self.raw.serialize(row)?;
        Ok(self.raw.flush()?)
    }

    /// Writes the medians, and returns the table.
    pub(crate) fn finish(mut self) -> Result<String, Box<dyn std::error::Error>> {
        let mut table = String::from(
            "| threads a node | locks | locality | lock | acquisitions/s | least to most | median us | p99 us | throughput of ALock to its |\n|---|---|---|---|---|---|---|---|---|\n",
        );
        for (&(nodes, threads, locks, locality), kinds) in &mut self.found {
            kinds.sort_by_key(|(lock, _)| *lock as u8);
            let mut alock = None;
            for (lock, runs) in kinds.iter() {
                let (Some(rate), Some(p50_ns), Some(p99_ns)) = (
                    median(runs.iter().map(|run| run.0)),
                    median(runs.iter().map(|run| run.1)),
                    median(runs.iter().map(|run| run.2)),
                ) else {
                    continue;
                };
                if *lock == Lock::Alock {
                    alock = Some(rate);
                }
                let rates = runs.iter().map(|run| run.0);
                let (least, most) =
                    rates.fold((f64::MAX, 0.0_f64), |(l, m), r| (l.min(r), m.max(r)));
                let ratio = alock.map_or("n/a".into(), |alock| format!("{:.2}", alock / rate));
                writeln!(
                    table,
                    "| {threads} | {locks} | {locality} % | {} | {rate:.0} | {least:.0} to {most:.0} | {:.1} | {:.1} | {ratio} |",
                    name(*lock),
                    p50_ns as f64 / 1000.0,
                    p99_ns as f64 / 1000.0,
                )?;
                self.summary.serialize(Summary {
                    lock: *lock,
                    nodes,
                    threads,
                    locks,
                    locality,
                    throughput: rate,
                    p50_ns,
                    p99_ns,
                })?;
            }
        }
        self.summary.flush()?;
        Ok(table)
    }
}

fn name(lock: Lock) -> &'static str {
    match lock {
        Lock::Alock => "alock",
        Lock::RdmaSpin => "rdma_spin",
        Lock::RdmaMcs => "rdma_mcs",
        Lock::Busted => "busted",
    }
}
