// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! handover-sim: locks on a simulated machine, as CSV.

use std::{error::Error, fmt::Display, fs, io, path::PathBuf, process::ExitCode};

use clap::Parser;
use coherence::{draws, lock, Costs, Counts, Lock, Outcome, Part, Settings, Topology, LOCKS};

/// Runs locks on a simulated machine and prints a line of CSV for each run. A thread acquires the lock, works, releases,
/// works, and so on. Times are virtual.
#[derive(Parser)]
#[command(name = "handover-sim")]
struct Arguments {
    /// Locks, by comma; `--lock list` prints them
    #[arg(long, default_value = "ticket,twa", value_delimiter = ',')]
    lock: Vec<String>,
    /// Numbers of threads, by comma; each has a CPU of its own
    #[arg(long, default_value = "1,2,4,8,18,36,72", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    threads: Vec<u32>,
    /// Sockets x cores of a socket x CPUs of a core
    #[arg(long, default_value_t = Topology::PAPER)]
    topology: Topology,
    /// A file in JSON with the costs that differ from the default
    #[arg(long)]
    costs: Option<PathBuf>,
    /// So many machines, each with costs of its own out of their ranges; the first has the defaults
    #[arg(long, default_value_t = 1, conflicts_with = "costs", value_parser = machines_of)]
    machines: usize,
    /// The seed of all that is drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The section, in nanoseconds
    #[arg(long, default_value_t = 12.0, value_parser = nanoseconds)]
    section: f64,
    /// The longest time between two sections of a thread, in nanoseconds
    #[arg(long, default_value_t = 540.0, value_parser = nanoseconds)]
    between: f64,
    /// The virtual time of a run, in nanoseconds
    #[arg(long, default_value_t = 400_000.0, value_parser = nanoseconds)]
    time: f64,
}

fn nanoseconds(said: &str) -> Result<f64, String> {
    let ns: f64 = said.parse().map_err(|_| "a number is due".to_owned())?;
    if (0.0..=1e9).contains(&ns) {
        Ok(ns)
    } else {
        Err("allowed: 0 to 1e9".to_owned())
    }
}

fn machines_of(said: &str) -> Result<usize, String> {
    match said.parse() {
        Ok(number @ 1..=1000) => Ok(number),
        _ => Err("allowed: 1 to 1000".to_owned()),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.lock == ["list"] {
        for lock in LOCKS {
            println!("{:14} {}", lock.name, lock.about);
        }
        return ExitCode::SUCCESS;
    }
    match simulate(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("handover-sim: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The machines: one with the costs of the file, or those of the sweep.
fn machines(arguments: &Arguments) -> Result<Vec<Costs>, Box<dyn Error>> {
    let Some(file) = &arguments.costs else {
        return Ok(draws(arguments.machines, arguments.seed));
    };
    let named = |error: &dyn Display| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| named(&error))?;
    Ok(vec![
        serde_json::from_str(&text).map_err(|error| named(&error))?
    ])
}

const COLUMNS: [&str; 20] = [
    "lock",
    "threads",
    "machine",
    "topology",
    "seed",
    "section_ns",
    "between_ns",
    "time_ns",
    "acquisitions",
    "millions_per_s",
    "handover_p50_ns",
    "handover_p99_ns",
    "jain",
    "invalidations",
    "lock_invalidations",
    "slot_invalidations",
    "node_invalidations",
    "looks_again",
    "far_transfers",
    "events",
];

fn row(
    lock: &Lock,
    machine: usize,
    settings: &Settings,
    outcome: &Outcome,
) -> [String; COLUMNS.len()] {
    let each = |count: u64| format!("{:.3}", count as f64 / outcome.sum().max(1) as f64);
    let ns = |quantile| {
        format!(
            "{:.1}",
            outcome.handovers.value_at_quantile(quantile) as f64 / 1000.0
        )
    };
    let part = |part: Part| each(outcome.counts[part as usize].invalidations);
    let all = |of: fn(&Counts) -> u64| each(outcome.counts.iter().map(of).sum());
    [
        lock.name.to_owned(),
        settings.threads.to_string(),
        machine.to_string(),
        settings.topology.to_string(),
        settings.seed.to_string(),
        settings.section.to_string(),
        settings.between.to_string(),
        settings.time.to_string(),
        outcome.sum().to_string(),
        format!("{:.3}", outcome.millions_a_second()),
        ns(0.5),
        ns(0.99),
        format!("{:.4}", outcome.jain()),
        all(|counts| counts.invalidations),
        part(Part::Lock),
        part(Part::Slots),
        part(Part::Nodes),
        all(|counts| counts.looks_again),
        all(Counts::far),
        outcome.events.to_string(),
    ]
}

fn simulate(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let machines = machines(arguments)?;
    let locks: Vec<&Lock> = arguments
        .lock
        .iter()
        .map(|name| {
            lock(name).ok_or_else(|| format!("no lock is called {name}; --lock list prints them"))
        })
        .collect::<Result<_, _>>()?;
    // Before anything is printed.
    let topology = arguments.topology;
    if let Some(threads) = arguments
        .threads
        .iter()
        .find(|&&threads| threads > topology.cpus())
    {
        return Err(format!("{threads} threads: {topology} has {} CPUs", topology.cpus()).into());
    }
    let mut to = csv::Writer::from_writer(io::stdout());
    to.write_record(COLUMNS)?;
    for lock in locks {
        for &threads in &arguments.threads {
            for (machine, costs) in machines.iter().enumerate() {
                let settings = Settings {
                    topology,
                    costs: costs.clone(),
                    threads,
                    section: arguments.section,
                    between: arguments.between,
                    time: arguments.time,
                    seed: arguments.seed,
                };
                let outcome = (lock.run)(&settings)
                    .map_err(|fault| format!("{} with {threads} threads: {fault}", lock.name))?;
                to.write_record(row(lock, machine, &settings, &outcome))?;
            }
            to.flush()?;
        }
    }
    Ok(())
}
