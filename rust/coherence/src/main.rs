// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! handover-sim: locks on a simulated machine, as CSV.

use std::{
    collections::BTreeMap,
    error::Error,
    fmt::Display,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser;
use coherence::{
    draws, lock,
    paper::{self, Rates},
    plan::{rows, Plan},
    tables::{Table, TABLES},
    Costs, Lock, Profile, Topology, Workload, COLUMNS, LOCKS, NO_LOCK,
};

/// Runs locks on a simulated machine and prints a line of CSV for each run. A thread acquires the lock, works, releases,
/// works, and so on. Times are virtual.
#[derive(Parser)]
#[command(name = "handover-sim")]
struct Arguments {
    /// Locks, by comma; `--lock list` prints them
    #[arg(long, value_delimiter = ',')]
    lock: Vec<String>,
    /// The benchmark: diameter, which has no lock, mutexbench, throw, stress_latency, locktorture, leveldb, rocksdb, or
    /// plain. The sections of plain are those of --section and --between [default: mutexbench, or plain with one of these]
    #[arg(long, value_parser = workload, conflicts_with = "profile")]
    workload: Option<Workload>,
    /// A file that `handover-run --profile` wrote: sections and the times between them are drawn as it has them
    #[arg(long)]
    profile: Option<PathBuf>,
    /// The profile's mutex, by its symbol or address; without it the one that was acquired most
    #[arg(long, requires = "profile")]
    mutex: Option<String>,
    /// Numbers of threads, by comma; each has a CPU of its own
    #[arg(long, default_value = "1,2,4,8,18,36,72", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    threads: Vec<u32>,
    /// Sockets x cores of a socket x CPUs of a core
    #[arg(long, default_value_t = Topology::PAPER)]
    topology: Topology,
    /// Slots of the waiting array, by comma; each a power of two, 4096 at most
    #[arg(long, default_value = "4096", value_delimiter = ',')]
    slots: Vec<u32>,
    /// A file in JSON with the costs that differ from the default
    #[arg(long)]
    costs: Option<PathBuf>,
    /// So many machines, each with costs of its own out of their ranges; the first has the defaults
    #[arg(long, default_value_t = 1, conflicts_with = "costs", value_parser = machines_of)]
    machines: usize,
    /// The seed of all that is drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The section of a plain workload, in nanoseconds [default: 12]
    #[arg(long, value_parser = nanoseconds)]
    section: Option<f64>,
    /// The longest time between two sections of a thread in a plain workload, in nanoseconds [default: 540]
    #[arg(long, value_parser = nanoseconds)]
    between: Option<f64>,
    /// How long nothing is counted, in nanoseconds; above 0 the array begins in the CPUs' caches
    #[arg(long, default_value_t = 0.0, value_parser = nanoseconds)]
    warm_up: f64,
    /// The virtual time of a run after that, in nanoseconds
    #[arg(long, default_value_t = 400_000.0, value_parser = nanoseconds)]
    time: f64,
    /// Prints nothing, and writes the tables of `make figures-twa` into this folder, with the verdicts on the paper
    #[arg(long, exclusive = true)]
    tables: Option<PathBuf>,
    /// Prints the verdicts on the paper by the tables of this folder
    #[arg(long, exclusive = true)]
    paper: Option<PathBuf>,
}

fn workload(said: &str) -> Result<Workload, String> {
    match said {
        "plain" => Ok(Workload::Plain {
            section: 0.0,
            between: 0.0,
        }),
        name => Workload::named(name).ok_or_else(|| {
            let names: Vec<&str> = Workload::all().map(Workload::name).collect();
            format!("allowed: {}, plain", names.join(", "))
        }),
    }
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
    let done = match (&arguments.tables, &arguments.paper) {
        (Some(folder), _) => write_tables(folder),
        (_, Some(folder)) => print_verdicts(folder),
        _ => simulate(&arguments),
    };
    match done {
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

fn simulate(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let has_times = arguments.section.is_some() || arguments.between.is_some();
    let profile = match &arguments.profile {
        Some(file) => Some(Workload::Program(Profile::open(
            file,
            arguments.mutex.as_deref(),
        )?)),
        None => None,
    };
    let workload = match (arguments.workload.or(profile), has_times) {
        (Some(Workload::Plain { .. }), _) | (None, true) => Workload::Plain {
            section: arguments.section.unwrap_or(12.0),
            between: arguments.between.unwrap_or(540.0),
        },
        (Some(other), true) => {
            let name = other.name();
            return Err(format!("{name}: --section and --between are of plain alone").into());
        }
        (other, false) => other.unwrap_or(Workload::MutexBench),
    };
    let usual: &[&str] = if workload.has_lock() {
        &["ticket", "twa"]
    } else {
        &[NO_LOCK.name]
    };
    let names: Vec<&str> = if arguments.lock.is_empty() {
        usual.to_vec()
    } else {
        arguments.lock.iter().map(String::as_str).collect()
    };
    let locks: Vec<&Lock> = names
        .into_iter()
        .map(|name| {
            lock(name).ok_or_else(|| format!("no lock is called {name}; --lock list prints them"))
        })
        .collect::<Result<_, _>>()?;
    let plan = Plan {
        workload,
        topology: arguments.topology,
        locks,
        threads: arguments.threads.clone(),
        slots: arguments.slots.clone(),
        machines: machines(arguments)?,
        warm_up: arguments.warm_up,
        time: arguments.time,
        seed: arguments.seed,
    };
    // Before anything is printed.
    plan.check()?;
    let mut to = csv::Writer::from_writer(io::stdout());
    to.write_record(COLUMNS)?;
    rows(&plan.runs(), |row| {
        to.write_record(row)?;
        to.flush()?;
        Ok(())
    })
}

/// Runs all tables, and writes each as soon as it is whole. Says how far it is.
fn write_tables(folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (number, table) in TABLES.iter().enumerate() {
        let runs = table.plan().runs();
        let (mut to, mut done) = (csv::Writer::from_writer(Vec::new()), 0);
        to.write_record(COLUMNS)?;
        rows::<Box<dyn Error>>(&runs, |row| {
            to.write_record(row)?;
            done += 1;
            if done % 24 == 0 || done == runs.len() {
                let (of, file) = (TABLES.len(), table.file);
                eprintln!(
                    "table {} of {of}, {file}: {done} of {} runs",
                    number + 1,
                    runs.len()
                );
            }
            Ok(())
        })?;
        write(folder, table.file, to)?;
    }
    write(folder, paper::FILE, verdicts(folder)?)
}

fn write(folder: &Path, file: &str, table: csv::Writer<Vec<u8>>) -> Result<(), Box<dyn Error>> {
    let path = folder.join(file);
    let text = table.into_inner().map_err(|error| error.to_string())?;
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// The verdicts by the tables of a folder, as CSV.
fn verdicts(folder: &Path) -> Result<csv::Writer<Vec<u8>>, Box<dyn Error>> {
    let mut tables: BTreeMap<String, Rates> = BTreeMap::new();
    for Table { file, .. } in TABLES {
        let path = folder.join(file);
        let named = |error: &dyn Display| format!("{}: {error}", path.display());
        // Those with several arrays have several runs of a lock.
        if !paper::reads(file) {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|error| named(&error))?;
        let rates = paper::rates(&text).map_err(|error| named(&error))?;
        tables.insert((*file).to_owned(), rates);
    }
    let mut to = csv::Writer::from_writer(Vec::new());
    to.write_record(paper::VERDICT_COLUMNS)?;
    for row in paper::verdicts(&tables)? {
        to.write_record(row)?;
    }
    Ok(to)
}

fn print_verdicts(folder: &Path) -> Result<(), Box<dyn Error>> {
    let text = verdicts(folder)?
        .into_inner()
        .map_err(|error| error.to_string())?;
    print!("{}", String::from_utf8(text)?);
    Ok(())
}
