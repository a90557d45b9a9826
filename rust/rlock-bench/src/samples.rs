// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The samples, their medians, and the files that they are written to.

use std::error::Error;
use std::path::Path;

/// The alignments of the loops: their distance from a multiple of 64.
pub(crate) const ALIGNMENTS: [usize; 5] = [0, 13, 27, 38, 52];

/// One method's cost, once.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) method: &'static str,
    pub(crate) threads: usize,
    pub(crate) cpus: usize,
    pub(crate) alignment: usize,
    pub(crate) round: usize,
    /// CPUs times wall time, over increments.
    pub(crate) ns: f64,
    /// The same in cycles of the time stamp counter.
    pub(crate) cycles: f64,
    /// Instructions per core cycle, where the machine counts them.
    pub(crate) ipc: Option<f64>,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        (values[middle - 1] + values[middle]) / 2.0
    }
}

/// A row of the table: medians over alignments, of medians over rounds.
pub(crate) struct Row {
    pub(crate) method: &'static str,
    pub(crate) threads: usize,
    pub(crate) cpus: usize,
    pub(crate) cycles: f64,
    pub(crate) ns: f64,
    /// Least and most of the alignments' medians, in cycles.
    pub(crate) least: f64,
    pub(crate) most: f64,
    pub(crate) ipc: Option<f64>,
}

pub(crate) fn rows(samples: &[Sample]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for first in samples {
        let same = |s: &&Sample| {
            (s.method, s.threads, s.cpus) == (first.method, first.threads, first.cpus)
        };
        if rows
            .iter()
            .any(|r| (r.method, r.threads, r.cpus) == (first.method, first.threads, first.cpus))
        {
            continue;
        }
        let of = |value: fn(&Sample) -> f64| -> Vec<f64> {
            let mut alignments: Vec<usize> =
                samples.iter().filter(same).map(|s| s.alignment).collect();
            alignments.sort_unstable();
            alignments.dedup();
            alignments
                .iter()
                .map(|&a| {
                    let of_one = samples.iter().filter(same).filter(|s| s.alignment == a);
                    median(of_one.map(value).collect())
                })
                .collect()
        };
        let cycles = of(|s| s.cycles);
        let ipcs: Vec<f64> = samples.iter().filter(same).filter_map(|s| s.ipc).collect();
        rows.push(Row {
            method: first.method,
            threads: first.threads,
            cpus: first.cpus,
            ns: median(of(|s| s.ns)),
            least: cycles.iter().copied().fold(f64::INFINITY, f64::min),
            most: cycles.iter().copied().fold(0.0, f64::max),
            cycles: median(cycles),
            ipc: (!ipcs.is_empty()).then(|| median(ipcs)),
        });
    }
    rows
}

pub(crate) fn write(out: &Path, samples: &[Sample], rows: &[Row]) -> Result<(), Box<dyn Error>> {
    let mut csv = csv::Writer::from_path(out.join("rlock.csv"))?;
    csv.write_record(["method", "threads", "cpus", "cycles", "ns"])?;
    for row in rows {
        csv.write_record([
            row.method,
            &row.threads.to_string(),
            &row.cpus.to_string(),
            &format!("{:.2}", row.cycles),
            &format!("{:.3}", row.ns),
        ])?;
    }
    csv.flush()?;
    let mut csv = csv::Writer::from_path(out.join("rlock-raw.csv"))?;
    let head = [
        "method",
        "threads",
        "cpus",
        "alignment",
        "round",
        "cycles",
        "ns",
        "ipc",
    ];
    csv.write_record(head)?;
    for s in samples {
        csv.write_record([
            s.method,
            &s.threads.to_string(),
            &s.cpus.to_string(),
            &s.alignment.to_string(),
            &s.round.to_string(),
            &format!("{:.6}", s.cycles),
            &format!("{:.6}", s.ns),
            &s.ipc.map_or(String::new(), |ipc| format!("{ipc:.2}")),
        ])?;
    }
    csv.flush()?;
    Ok(())
}
