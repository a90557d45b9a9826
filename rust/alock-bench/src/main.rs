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
mod sim;
mod tables;
mod verbs;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use alock::cluster::{Error, Rendezvous};
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
/// the address of rank 0 in its options or in what the launcher set. With --device sim one
/// process simulates all nodes, in virtual time; then --nodes is 5,10,20 unless it is given,
/// --threads 1,2,4,8,12, --locality 85,90,95,100, --duration 5 and --rounds 3.
#[derive(Debug, Parser)]
#[command(version, about, long_about)]
struct Options {
    /// This node's rank [default: the launcher's]
    #[arg(long)]
    rank: Option<u16>,
    /// How many nodes there are [default: the launcher's]
    #[arg(long)]
    size: Option<u16>,
    /// Where rank 0 listens, HOST:PORT [default: MASTER_ADDR:MASTER_PORT]
    #[arg(long)]
    rendezvous: Option<String>,
    /// How many nodes the cluster has: with --device sim, one run each [default: 5,10,20];
    /// with a real device only a check of the launcher's number
    #[arg(long, value_delimiter = ',')]
    nodes: Vec<u16>,
    /// The RDMA device, or sim for a simulated cluster [default: the first]
    #[arg(short, long)]
    device: Option<String>,
    /// The index of the device's address [default: the first of IPv4 and RoCE v2]
    #[arg(short = 'x', long)]
    gid_index: Option<u8>,
    /// The device's port
    #[arg(short, long, default_value_t = 1)]
    port: u8,
    #[command(flatten)]
    set: Set,
    #[command(flatten)]
    sim: sim::Options,
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
}

type Failure = Box<dyn std::error::Error>;

/// Without a device: all nodes in this process.
fn simulate(options: &Options, matches: &ArgMatches) -> Result<(), Failure> {
    let chosen = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    for (is, name) in [
        (options.rank.is_some(), "--rank"),
        (options.size.is_some(), "--size"),
        (options.rendezvous.is_some(), "--rendezvous"),
        (options.gid_index.is_some(), "--gid-index"),
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
    } = launch::place(options.rank, options.size, options.rendezvous.as_deref())?;
    if !options.nodes.is_empty() && options.nodes != [size] {
        return Err(format!("--nodes: there are {size}, as --size or the launcher says").into());
    }
    let silence = Duration::from_secs(options.silence.max(1));
    let rendezvous = Rendezvous::join(&address, rank, size, Duration::from_secs(60), silence)?;
    let rendezvous = Arc::new(rendezvous);
    let nic = nic::Options {
        device: options.device.clone(),
        gid_index: options.gid_index,
        port: options.port,
        ..nic::Options::default()
    };
    let points = options.set.points(size)?;
    let mut report = None;
    if rank == 0 {
        let device = nic::Nic::open(&nic)?.name().to_owned();
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
            options.set.seed + *round,
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

fn main() -> ExitCode {
    let matches = Options::command().get_matches();
    let options = match Options::from_arg_matches(&matches) {
        Ok(options) => options,
        Err(error) => error.exit(),
    };
    match run(&options, &matches) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("alock-bench: {error}");
            let mut cause = error.source();
            while let Some(why) = cause {
                eprintln!("alock-bench: because: {why}");
                cause = why.source();
            }
            // A lost node is told from a mistake in the options.
            match error.downcast_ref::<Error>() {
                Some(Error::Lost { .. } | Error::Link { .. }) => ExitCode::from(3),
                _ => ExitCode::FAILURE,
            }
        }
    }
}
