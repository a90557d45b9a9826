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
mod tables;
mod verbs;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use alock::cluster::{Error, Rendezvous};
use clap::Parser;

use launch::Place;
use point::Set;
use progress::Progress;
use record::About;
use report::Report;

/// ALock beside locks that need loopback, on the nodes of a cluster.
///
/// Start one a node, by mpirun, srun or hand; each finds its rank, the number of nodes and
/// the address of rank 0 in its options or in what the launcher set.
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
    /// The RDMA device [default: the first]
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
    /// Run behind everything else (SCHED_IDLE). For software devices: theirs are kernel
    /// threads, which otherwise wait until a program that never sleeps has used its slice
    #[arg(long)]
    behind: bool,
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

/// This process' threads, those to come included, run when nothing else does.
fn go_behind() -> std::io::Result<()> {
    // SAFETY: zeroes are such a parameter, and the only one that this policy has.
    let parameter: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: it lives through the call.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameter) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let remark = options.remark.as_deref();
    if let Some(dir) = &options.draw {
        print!("{}", report::draw(dir, remark)?);
        return Ok(());
    }
    let Place {
        rank,
        size,
        address,
    } = launch::place(options.rank, options.size, options.rendezvous.as_deref())?;
    if options.behind {
        go_behind()?;
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
        let about = About::new(&device, options.behind, &options.set, remark);
        report = Some(Report::new(&options.out, about)?);
    }
    let mut progress = Progress::new(points.len());
    for (number, (round, point)) in points.iter().enumerate() {
        let found = verbs::run(point, &rendezvous, &nic, options.set.seed + *round)?;
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
    let options = Options::parse();
    match run(&options) {
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
