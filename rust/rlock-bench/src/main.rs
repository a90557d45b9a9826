// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0

//! `make bench-rlock`: what an increment costs by rlock and by other methods, side by
//! side in one run, over several alignments of the code; what a cancellation costs.
//!
//! Writes `rlock.csv`, `rlock-raw.csv` and `rlock-cancel.csv` into the folder named by
//! its argument, prints the tables, and shows on standard error how far it is.

mod cancel;
mod machine;
mod methods;
mod rseq;
mod shared;

use std::error::Error;
use std::path::Path;

use machine::Machine;

/// One method's cost, once.
#[derive(Clone, Debug)]
struct Sample {
    method: &'static str,
    threads: usize,
    cpus: usize,
    alignment: usize,
    round: usize,
    /// CPUs times wall time, over increments.
    ns: f64,
    /// The same in cycles of the time stamp counter.
    cycles: f64,
    /// Instructions per core cycle, where the machine counts them.
    ipc: Option<f64>,
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
struct Row {
    method: &'static str,
    threads: usize,
    cpus: usize,
    cycles: f64,
    ns: f64,
    /// Least and most of the alignments' medians, in cycles.
    least: f64,
    most: f64,
    ipc: Option<f64>,
}

fn rows(samples: &[Sample]) -> Vec<Row> {
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

fn write(out: &Path, samples: &[Sample], rows: &[Row]) -> Result<(), Box<dyn Error>> {
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
            &format!("{:.3}", s.cycles),
            &format!("{:.4}", s.ns),
            &s.ipc.map_or(String::new(), |ipc| format!("{ipc:.2}")),
        ])?;
    }
    csv.flush()?;
    Ok(())
}

fn print(rows: &[Row], machine: &Machine) {
    println!("| method | threads / CPUs | cycles | least to most | ns | IPC | to rlock |");
    println!("|---|---|---|---|---|---|---|");
    let of = |method: &str, threads, cpus| {
        rows.iter()
            .find(|r| (r.method, r.threads, r.cpus) == (method, threads, cpus))
            .map_or(f64::NAN, |r| r.cycles)
    };
    let one = of("rlock", 1, 1);
    for row in rows {
        println!(
            "| {} | {} / {} | {:.1} | {:.1} to {:.1} | {:.2} | {} | {:.2} |",
            row.method,
            row.threads,
            row.cpus,
            row.cycles,
            row.least,
            row.most,
            row.ns,
            row.ipc.map_or("n/a".into(), |ipc| format!("{ipc:.2}")),
            row.cycles / one,
        );
    }
    println!();
    let locked = methods::LOCKED
        .iter()
        .map(|&method| (method, of(method, 1, 1)))
        .min_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((method, cycles)) = locked {
        println!(
            "rlock to the cheapest locked method ({method}): {:.2} (wanted: at most 0.50)",
            one / cycles
        );
    }
    for (threads, cpus) in [(4, 1), (256, 1), (2, 2)] {
        println!(
            "rlock {threads}/{cpus} to 1/1: {:.3} (wanted: at most 1.10)",
            of("rlock", threads, cpus) / one
        );
    }
    println!();
    println!("{machine}");
}

/// The alignments of the loops: their distance from a multiple of 64.
const ALIGNMENTS: [usize; 5] = [0, 13, 27, 38, 52];
const ROUNDS: usize = 3;

fn increments(out: &Path, machine: &Machine) -> Result<(), Box<dyn Error>> {
    let mut samples = Vec::new();
    for round in 0..ROUNDS {
        eprintln!("bench-rlock: increments, round {} of {ROUNDS}", round + 1);
        methods::sample(round, machine, &mut samples)?;
        shared::sample(round, machine, &mut samples)?;
    }
    let rows = rows(&samples);
    write(out, &samples, &rows)?;
    print(&rows, machine);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (out, all) = match words.as_slice() {
        [out] => (Path::new(out), true),
        [out, only] if only == "cancel" => (Path::new(out), false),
        _ => return Err("usage: bench FOLDER [cancel]".into()),
    };
    std::fs::create_dir_all(out)?;
    let capabilities = rlock::capabilities()?;
    let machine = Machine::look();
    if all {
        increments(out, &machine)?;
    }
    println!("what rlock believes here: {capabilities}");
    println!();
    cancel::run(out, &machine)?;
    Ok(())
}
