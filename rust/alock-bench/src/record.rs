// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What a run of the program was and showed, as `run.json` has it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use figures::alock::Table;
pub(crate) use figures::alock::{Key, Row};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::point::{Found, Point, Set};

/// The format of `run.json`. Another number means another meaning of what is in it.
const FORMAT: u32 = 1;

/// Values, each the highest of its bucket, in ns, and how often.
pub(crate) type Counts = Vec<(u64, u64)>;

/// What was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct About {
    /// This program's version.
    pub(crate) version: String,
    /// The device's name on rank 0, or `sim`.
    pub(crate) device: String,
    /// The CPUs that rank 0 could run on.
    pub(crate) cpus: usize,
    /// The polls of a waiting thread before it lets others run; 0 in simulation.
    #[serde(alias = "looks")]
    pub(crate) polls: u32,
    pub(crate) set: Set,
    /// The user wants it below every figure.
    pub(crate) remark: Option<String>,
}

impl About {
    pub(crate) fn new(device: &str, polls: u32, set: &Set, remark: Option<&str>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            device: device.into(),
            cpus: std::thread::available_parallelism().map_or(0, usize::from),
            polls,
            set: set.clone(),
            remark: remark.map(Into::into),
        }
    }
}

/// The key of a point in the tables.
pub(crate) fn key_of(point: &Point) -> Key {
    let budgets = point.lock.has_budgets().then_some(point.budgets);
    Key {
        nodes: point.nodes,
        threads: point.threads,
        locks: point.locks,
        locality: point.locality,
        lock: point.lock,
        local_budget: budgets.map(|it| it.local.get()),
        remote_budget: budgets.map(|it| it.remote.get()),
    }
}

fn row(round: u64, key: Key, found: &Found) -> Row {
    let latency = found.latency();
    let by_thread = || found.threads.iter().map(|it| it.operations);
    Row {
        round,
        lock: key.lock,
        nodes: key.nodes,
        threads: key.threads,
        locks: key.locks,
        locality: key.locality,
        operations: found.operations(),
        seconds: found.seconds(),
        throughput: found.throughput(),
        p50_ns: latency.value_at_quantile(0.5),
        p99_ns: latency.value_at_quantile(0.99),
        work_requests: found.work_requests(),
        queue_pairs: found.queue_pairs(),
        least_of_a_thread: by_thread().min().unwrap_or(0),
        most_of_a_thread: by_thread().max().unwrap_or(0),
        local_budget: key.local_budget,
        remote_budget: key.remote_budget,
    }
}

/// What a thread did in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OfThread {
    pub(crate) rank: u16,
    pub(crate) thread: u16,
    pub(crate) operations: u64,
    pub(crate) seconds: f64,
    pub(crate) throughput: f64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
}

/// A run, with its threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    #[serde(flatten)]
    pub(crate) row: Row,
    /// Empty where only `raw.csv` is left.
    pub(crate) by_thread: Vec<OfThread>,
}

/// A thread's latencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ThreadLatency {
    pub(crate) rank: u16,
    pub(crate) thread: u16,
    pub(crate) latency: Counts,
}

/// The latencies of a point's rounds, taken together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latencies {
    #[serde(flatten)]
    pub(crate) key: Key,
    /// The latencies of all threads.
    pub(crate) latency: Counts,
    pub(crate) by_thread: Vec<ThreadLatency>,
}

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    /// None where only `raw.csv` is left.
    pub(crate) about: Option<About>,
    pub(crate) runs: Vec<Run>,
    pub(crate) points: Vec<Latencies>,
}

/// The file as it is read.
#[derive(Deserialize)]
struct File {
    about: About,
    runs: Vec<Run>,
    points: Vec<Latencies>,
}

#[derive(Deserialize)]
struct Format {
    format: u32,
}

impl Run {
    pub(crate) fn new(round: u64, point: &Point, found: &Found) -> Self {
        let of_node = usize::from(point.threads);
        let by_thread = found
            .threads
            .iter()
            .enumerate()
            .map(|(number, it)| OfThread {
                rank: (number / of_node) as u16,
                thread: (number % of_node) as u16,
                operations: it.operations,
                seconds: it.seconds,
                throughput: it.operations as f64 / it.seconds,
                p50_ns: it.latency.value_at_quantile(0.5),
                p99_ns: it.latency.value_at_quantile(0.99),
            });
        Self {
            row: row(round, key_of(point), found),
            by_thread: by_thread.collect(),
        }
    }
}

/// The latencies of every point, as they come in. In sum with two digits, of each thread
/// with one: all digits of 240 threads would be gigabytes.
#[derive(Default)]
pub(crate) struct Merged(BTreeMap<Key, (Histogram<u64>, Vec<Histogram<u64>>)>);

impl Merged {
    pub(crate) fn add(&mut self, key: Key, found: &Found) {
        let of =
            |digits| Histogram::new(digits).unwrap_or_else(|_| unreachable!("so many are allowed"));
        let (all, threads) = self.0.entry(key).or_insert_with(|| (of(2), Vec::new()));
        threads.resize_with(threads.len().max(found.threads.len()), || of(1));
        for (into, thread) in threads.iter_mut().zip(&found.threads) {
            // They grow as they must.
            let _ = all.add(&thread.latency);
            let _ = into.add(&thread.latency);
        }
    }

    pub(crate) fn finish(self) -> Vec<Latencies> {
        let points = self.0.into_iter().map(|(key, (all, threads))| Latencies {
            key,
            latency: counts(&all),
            by_thread: (0_u16..)
                .zip(&threads)
                .map(|(number, it)| ThreadLatency {
                    rank: number / key.threads,
                    thread: number % key.threads,
                    latency: counts(it),
                })
                .collect(),
        });
        points.collect()
    }
}

fn counts(histogram: &Histogram<u64>) -> Counts {
    let recorded = histogram.iter_recorded();
    recorded
        .map(|it| (it.value_iterated_to(), it.count_at_value()))
        .collect()
}

impl Record {
    /// The medians of each point's rounds.
    pub(crate) fn table(&self) -> Table {
        Table::of(self.runs.iter().map(|it| &it.row))
    }

    /// `run.json`: a line a run and a line a point.
    pub(crate) fn json(&self) -> Result<String, serde_json::Error> {
        let about = serde_json::to_string(&self.about)?;
        let mut text = format!("{{\"format\":{FORMAT},\n\"about\":{about},\n\"runs\":[");
        lines(&mut text, &self.runs)?;
        text.push_str("],\n\"points\":[");
        lines(&mut text, &self.points)?;
        text.push_str("]}\n");
        Ok(text)
    }

    /// Reads a folder's `run.json`; without one, as much as its `raw.csv` has.
    pub(crate) fn read(dir: &Path) -> Result<Self, String> {
        let there = |name: &&str| dir.join(name).exists();
        let Some(name) = ["run.json", "raw.csv"].into_iter().find(there) else {
            return Err(format!("no run.json and no raw.csv in {}", dir.display()));
        };
        let path = dir.join(name);
        let said = |why: String| format!("{}: {why}", path.display());
        let text = fs::read_to_string(&path).map_err(|error| said(error.to_string()))?;
        let it = match name {
            "run.json" => Self::from_json(&text),
            _ => Self::from_csv(&text),
        };
        let it = it.map_err(said)?;
        it.check().map_err(said)?;
        Ok(it)
    }

    pub(crate) fn from_json(text: &str) -> Result<Self, String> {
        let said = |error: serde_json::Error| error.to_string();
        let Format { format } = serde_json::from_str(text).map_err(said)?;
        if format != FORMAT {
            return Err(format!("it is of format {format}, and this reads {FORMAT}"));
        }
        let it: File = serde_json::from_str(text).map_err(said)?;
        Ok(Self {
            about: Some(it.about),
            runs: it.runs,
            points: it.points,
        })
    }

    pub(crate) fn from_csv(text: &str) -> Result<Self, String> {
        let mut runs = Vec::new();
        for row in csv::Reader::from_reader(text.as_bytes()).deserialize() {
            let row = row.map_err(|error| error.to_string())?;
            let by_thread = Vec::new();
            runs.push(Run { row, by_thread });
        }
        Ok(Self {
            about: None,
            runs,
            points: Vec::new(),
        })
    }

    /// Whether it can be drawn.
    fn check(&self) -> Result<(), String> {
        if self.runs.is_empty() {
            return Err("no run is in it".into());
        }
        for (number, Run { row, .. }) in self.runs.iter().enumerate() {
            let good = row.throughput.is_finite() && row.throughput >= 0.0;
            if !good || row.nodes == 0 || row.threads == 0 {
                return Err(format!("run {}: a number makes no sense", number + 1));
            }
        }
        Ok(())
    }
}

fn lines<T: Serialize>(text: &mut String, all: &[T]) -> Result<(), serde_json::Error> {
    for (number, one) in all.iter().enumerate() {
        let comma = if number == 0 { "" } else { "," };
        // A string takes everything.
        let _ = write!(text, "{comma}\n{}", serde_json::to_string(one)?);
    }
    Ok(())
}
