// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! `alock-bench`: ALock beside locks that need loopback, on the nodes of a cluster.
//!
//! Every node runs it. Each critical section changes a word that the lock protects; the end
//! checks that none was lost.

mod drawing;
#[cfg(test)]
mod example;
mod launch;
mod network;
#[cfg(test)]
mod pages;
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

use launch::Membership;
use network::{named, Network};
use point::Set;
use progress::Progress;
use record::About;
use report::Report;

/// ALock beside locks that need loopback, on the nodes of a cluster.
///
/// Start one process on each node, by mpirun, srun or hand. A process reads its rank, the number
/// of nodes and rank 0's address from its options. Without them it reads the launcher's
/// variables. Give all nodes the same options. Only -d, -i and -x may differ. A process waits
/// 60 s for the others.
///
/// With --device sim one process simulates all nodes, in virtual time. The defaults are then
/// --nodes 5,10,20, --threads 1,2,4,8,12, --locality 85,90,95,100, --duration 5 and --rounds 3.
///
/// docs/alock.md of the source has the files' columns.
#[derive(Debug, Parser)]
#[command(version, about, long_about, after_long_help = AFTER)]
struct Options {
    /// This node's rank [default: the first that is set of RANK, OMPI_COMM_WORLD_RANK,
    /// PMIX_RANK, PMI_RANK and SLURM_PROCID]
    #[arg(long)]
    rank: Option<u16>,
    /// The number of nodes, one process each. Simulated clusters take --nodes
    /// [default: the first that is set of WORLD_SIZE, OMPI_COMM_WORLD_SIZE, PMI_SIZE and
    /// SLURM_NTASKS]
    #[arg(long)]
    size: Option<u16>,
    /// Rank 0's address, HOST or HOST:PORT. On rank 0, too, HOST must resolve to the address
    /// by which the others reach it. A single node needs none [default: MASTER_ADDR]
    #[arg(long)]
    rendezvous: Option<String>,
    /// The TCP port there, if --rendezvous has none [default: MASTER_PORT, or 18550]
    #[arg(short, long, value_parser = launch::tcp_port)]
    port: Option<u16>,
    /// The sizes of simulated clusters, with --device sim, one after the other [default:
    /// 5,10,20]. With a real device: the size that --size or the launcher must give
    #[arg(long, value_delimiter = ',')]
    nodes: Vec<u16>,
    /// The RDMA device, or sim for a simulated cluster [default: the first whose
    /// port is up]
    #[arg(short, long)]
    device: Option<String>,
    #[command(flatten)]
    network: Network,
    #[command(flatten)]
    set: Set,
    /// The polls of a waiting thread before it lets others run. A software device needs fewer,
    /// for example 8: its threads share the CPUs
    #[arg(long, default_value_t = 64)]
    polls: u32,
    /// Seconds without a message until a node counts as lost
    #[arg(long, default_value_t = 10)]
    silence: u64,
    /// Writes from each node to the next before the first point, whose order the next one's CPU
    /// checks. A fault ends the run. 0: no check. Give all nodes the same number
    #[arg(long, value_name = "ROUNDS", default_value_t = 0)]
    check_ordering: u64,
    /// Rank 0 writes raw.csv, run.json, tables and figures there
    #[arg(long, default_value = ".")]
    out: PathBuf,
    /// A line below every figure: what the reader must know of the machine
    #[arg(long)]
    remark: Option<String>,
    /// Draws the tables and figures of DIR/run.json again, and runs nothing. Without run.json it
    /// uses DIR/raw.csv. Only --remark has an effect beside it
    #[arg(long, value_name = "DIR")]
    draw: Option<PathBuf>,
    // The last: its heading would be that of what follows.
    #[command(flatten)]
    sim: sim::Options,
}

type Failure = Box<dyn std::error::Error>;

/// The end of the long help.
const AFTER: &str = "Exit status: 0 for success; 2 for an unknown option; 3 for a lost node or \
link; 1 for any other error.";

/// Without a device: all nodes in this process.
fn simulate(options: &Options, matches: &ArgMatches) -> Result<(), Failure> {
    let chosen = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    for (is, name) in [
        (options.rank.is_some(), "--rank"),
        (options.size.is_some(), "--size"),
        (options.rendezvous.is_some(), "--rendezvous"),
        (options.port.is_some(), "--port"),
        (chosen("polls"), "--polls"),
        (chosen("check_ordering"), "--check-ordering"),
    ] {
        if is {
            return Err(format!("{name} is not for --device sim: it is one process").into());
        }
    }
    if let Some(name) = Network::NAMES.into_iter().find(|name| chosen(name)) {
        let name = name.replace('_', "-");
        return Err(format!("--{name} is not for --device sim: it has no device").into());
    }
    let (set, points) = sim::points(&options.set, &options.nodes, chosen)?;
    let costs = options.sim.costs()?;
    let about = About::new(sim::NAME, 0, &set, options.remark.as_deref());
    let mut report = Report::new(&options.out, about)?;
    let mut progress = Progress::new(points.len());
    sim::write_costs(&costs, &options.out)?;
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
    print!("{}{}", report.finish()?, sim::small_print(&costs));
    Ok(())
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
    let Membership {
        rank,
        size,
        address,
    } = launch::membership(
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
    let nic = options.network.options(options.device.as_deref());
    let points = options.set.points(size)?;
    let opened = nic::Nic::open(&nic).map_err(named)?;
    opened.writes().map_err(named)?;
    let device = opened.name().to_owned();
    drop(opened);
    if options.check_ordering > 0 {
        let rounds = options.check_ordering;
        let seen = verbs::check_ordering(&rendezvous, &nic, options.polls, rounds)?;
        println!("node {rank}: {rounds} writes came, of which {seen} were seen to come in order");
    }
    let mut report = None;
    if rank == 0 {
        let about = About::new(&device, options.polls, &options.set, remark);
        report = Some(Report::new(&options.out, about)?);
    }
    let mut progress = Progress::new(points.len());
    for (number, (round, point)) in points.iter().enumerate() {
        let found = verbs::run(
            point,
            &rendezvous,
            &nic,
            options.polls,
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
