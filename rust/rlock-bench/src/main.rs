// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! `make bench-rlock`: the cost of an increment, by rlock and by other methods, and of
//! a cancellation. All methods run side by side in one run, over several alignments of
//! the code.
//!
//! `handover-rlock-bench FOLDER` writes `rlock.csv`, `rlock-raw.csv` and `rlock-cancel.csv` into
//! the folder, and prints the tables. With the word `cancel` after it only cancellations run.
//! Progress goes to standard error.

mod cancel;
mod machine;
mod methods;
mod rseq;
mod samples;
mod shared;

use std::error::Error;
use std::path::Path;

use machine::Machine;
use samples::Row;

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

const ROUNDS: usize = 3;

fn increments(out: &Path, machine: &Machine) -> Result<(), Box<dyn Error>> {
    let mut samples = Vec::new();
    for round in 0..ROUNDS {
        eprintln!("bench-rlock: increments, round {} of {ROUNDS}", round + 1);
        methods::sample(round, machine, &mut samples)?;
        shared::sample(round, machine, &mut samples)?;
    }
    let rows = samples::rows(&samples);
    samples::write(out, &samples, &rows)?;
    print(&rows, machine);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (out, all) = match words.as_slice() {
        [out] => (Path::new(out), true),
        [out, only] if only == "cancel" => (Path::new(out), false),
        _ => return Err("usage: handover-rlock-bench FOLDER [cancel]".into()),
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
