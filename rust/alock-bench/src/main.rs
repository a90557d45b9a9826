// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0

//! `alock-bench`: ALock beside locks that need loopback, on the nodes of a cluster.
//!
//! Every node runs it. Each critical section changes a word that the lock protects; the end
//! checks that none was lost.

#[cfg(test)]
mod example;
mod figures;
mod files;
mod launch;
mod medians;
mod point;
mod progress;
mod record;
mod report;
mod seeds;
mod sim;
mod tables;
mod verbs;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use alock::cluster::{Error, Rendezvous};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};

use launch::Place;
use point::Set;
use progress::Progress;
use record::About;
use report::Report;

/// ALock beside locks that need loopback, on the nodes of a cluster.
///
/// Start one a node, by mpirun, srun or hand; each finds its rank, the number of nodes and
/// the address of rank 0 in its options or in what the launcher set. Options that say what is
/// run are to be the same on all nodes. Each waits 60 s for the others to come. With --device
/// sim one process simulates all nodes, in virtual time; then --nodes is 5,10,20 unless it is
/// given, --threads 1,2,4,8,12, --locality 85,90,95,100, --duration 5 and --rounds 3.
///
/// docs/using.md of the source has the files' columns.
#[derive(Debug, Parser)]
#[command(version, about, long_about, after_long_help = AFTER)]
struct Options {
    /// This node's rank [default: the first that is set of RANK, OMPI_COMM_WORLD_RANK,
    /// PMIX_RANK, PMI_RANK and SLURM_PROCID]
    #[arg(long)]
    rank: Option<u16>,
    /// How many nodes, which is how many processes, there are; of simulated ones --nodes
    /// [default: the first that is set of WORLD_SIZE, OMPI_COMM_WORLD_SIZE, PMI_SIZE and
    /// SLURM_NTASKS]
    #[arg(long)]
    size: Option<u16>,
    /// Where rank 0 listens, HOST or HOST:PORT. On rank 0, too, HOST is to resolve to the address
    /// by which the others reach it [default: MASTER_ADDR; one node alone needs none]
    #[arg(long)]
    rendezvous: Option<String>,
    /// The TCP port there, if --rendezvous has none [default: MASTER_PORT, or 18550]
    #[arg(short, long, value_parser = launch::tcp_port)]
    port: Option<u16>,
    /// With --device sim: how many nodes the simulated clusters have, one after the other
    /// [default: 5,10,20]. With a real device only a check: --size, or what the launcher set,
    /// must say the same
    #[arg(long, value_delimiter = ',')]
    nodes: Vec<u16>,
    /// The RDMA device, or sim for a simulated cluster [default: the first]
    #[arg(short, long)]
    device: Option<String>,
    /// The index of the device's address [default: the first of IPv4 and RoCE v2]
    #[arg(short = 'x', long)]
    gid_index: Option<u8>,
    /// The device's port
    #[arg(short, long, default_value_t = 1, value_parser = launch::ib_port)]
    ib_port: u8,
    #[command(flatten)]
    set: Set,
    /// How often a waiting thread looks before it lets others run: fewer where the device is
    /// software, whose threads need the CPUs, too
    #[arg(long, default_value_t = 64)]
    looks: u32,
    /// After so many seconds of silence a node counts as lost
    #[arg(long, default_value_t = 10)]
    silence: u64,
    /// Rank 0 writes raw.csv, run.json, tables and figures there
    #[arg(long, default_value = ".")]
    out: PathBuf,
    /// Printed below every figure: what the reader must know of the machine
    #[arg(long)]
    remark: Option<String>,
    /// Runs nothing: writes the tables and figures of DIR/run.json, or as much as
    /// DIR/raw.csv has, to DIR. Of the other options --remark alone counts
    #[arg(long, value_name = "DIR")]
    draw: Option<PathBuf>,
    // The last: its heading would be that of what follows.
    #[command(flatten)]
    sim: sim::Options,
}

type Failure = Box<dyn std::error::Error>;

/// At the end of the long help.
const AFTER: &str = "Exit status: 0; 2 for options that it does not know; 3 where a node, or the \
link to one, was lost; 1 for all else.";

/// Without a device: all nodes in this process.
fn simulate(options: &Options, matches: &ArgMatches) -> Result<(), Failure> {
    let chosen = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    for (is, name) in [
        (options.rank.is_some(), "--rank"),
        (options.size.is_some(), "--size"),
        (options.rendezvous.is_some(), "--rendezvous"),
        (options.port.is_some(), "--port"),
        (options.gid_index.is_some(), "--gid-index"),
        (chosen("ib_port"), "--ib-port"),
        (chosen("looks"), "--looks"),
    ] {
        if is {
            return Err(format!("{name} is not for --device sim: it is one process").into());
        }
    }
    let (set, points) = sim::points(&options.set, &options.nodes, chosen)?;
    let model = options.sim.model()?;
    let about = About::new(sim::NAME, 0, &set, options.remark.as_deref());
    let mut report = Report::new(&options.out, about)?;
    let mut progress = Progress::new(points.len());
    sim::write_model(&model, &options.out)?;
    sim::run_all(
        &points,
        &options.sim,
        options.set.seed,
        |number, round, point, found| -> Result<(), Failure> {
            report.add(round, point, found)?;
            progress.show(number + 1, point, found);
            Ok(())
        },
    )?;
    drop(progress);
    print!("{}{}", report.finish()?, sim::small_print(&model));
    Ok(())
}

/// The option by its name here: `--port` is another.
fn named(error: nic::Error) -> Failure {
    match error {
        nic::Error::OutOfRange {
            option: "port",
            value,
            least,
            most,
        } => format!("--ib-port {value}: the device's ports are {least} to {most}").into(),
        other => other.into(),
    }
}

fn run(options: &Options, matches: &ArgMatches) -> Result<(), Failure> {
    let remark = options.remark.as_deref();
    if let Some(dir) = &options.draw {
        print!("{}", report::draw(dir, remark)?);
        return Ok(());
    }
    if options.device.as_deref() == Some(sim::NAME) {
        return simulate(options, matches);
    }
    if let Some(name) = options.sim.given() {
        return Err(format!("{name} is for --device sim").into());
    }
    let Place {
        rank,
        size,
        address,
    } = launch::place(
        options.rank,
        options.size,
        options.rendezvous.as_deref(),
        options.port,
    )?;
    if !options.nodes.is_empty() && options.nodes != [size] {
        return Err(format!("--nodes: there are {size}, as --size or the launcher says").into());
    }
    let silence = Duration::from_secs(options.silence.max(1));
    let rendezvous = Rendezvous::join(&address, rank, size, Duration::from_secs(60), silence)?;
    let rendezvous = Arc::new(rendezvous);
    let nic = nic::Options {
        device: options.device.clone(),
        gid_index: options.gid_index,
        port: options.ib_port,
        ..nic::Options::default()
    };
    let points = options.set.points(size)?;
    let device = nic::Nic::open(&nic).map_err(named)?.name().to_owned();
    let mut report = None;
    if rank == 0 {
        let about = About::new(&device, options.looks, &options.set, remark);
        report = Some(Report::new(&options.out, about)?);
    }
    let mut progress = Progress::new(points.len());
    for (number, (round, point)) in points.iter().enumerate() {
        let found = verbs::run(
            point,
            &rendezvous,
            &nic,
            options.looks,
            seeds::of_round(options.set.seed, *round),
        )?;
        if let Some(report) = &mut report {
            report.add(*round, point, &found)?;
            progress.show(number + 1, point, &found);
        }
    }
    drop(progress);
    if let Some(report) = report {
        print!("{}", report.finish()?);
    }
    Ok(())
}

/// What is said of a value that an option does not take: the option, and what it takes. Of
/// other mistakes clap has more to say.
fn refused(error: &clap::Error) -> Option<String> {
    let said = error.to_string();
    let line = said
        .lines()
        .next()
        .filter(|_| error.kind() == ErrorKind::ValueValidation)?;
    Some(line.trim_start_matches("error: ").to_owned())
}

fn main() -> ExitCode {
    let parsed = Options::command().try_get_matches().and_then(|matches| {
        let options = Options::from_arg_matches(&matches)?;
        Ok((options, matches))
    });
    let (options, matches) = match parsed {
        Ok(both) => both,
        Err(error) => {
            let Some(why) = refused(&error) else {
                error.exit()
            };
            eprintln!("alock-bench: {why}");
            // As clap exits.
            return ExitCode::from(2);
        }
    };
    match run(&options, &matches) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let ended = error.downcast_ref::<verbs::Ended>();
            let mut cause = error.source();
            if let Some(verbs::Ended {
                why: Error::Nic(_),
                rank,
                ..
            }) = ended
            {
                // What the others are told of it.
                eprintln!("alock-bench: node {rank} is lost: its device failed");
                eprintln!("alock-bench: because: {error}");
            } else {
                eprintln!("alock-bench: {error}");
            }
            while let Some(why) = cause {
                eprintln!("alock-bench: because: {why}");
                cause = why.source();
            }
            if let Some(verbs::Ended {
                rank,
                operations,
                sum,
                ..
            }) = ended
            {
                eprintln!(
                    "alock-bench: node {rank}: {operations} operations, its locks sum to {sum}"
                );
            }
            // A lost node is told from a mistake in the options.
            let why = ended.map(|ended| &ended.why);
            match why.or_else(|| error.downcast_ref()) {
                Some(Error::Lost { .. } | Error::Link { .. }) => ExitCode::from(3),
                // In a run: the device was there when it began.
                Some(Error::Nic(_)) if ended.is_some() => ExitCode::from(3),
                _ => ExitCode::FAILURE,
            }
        }
    }
}
