// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What our locks cost in user space, beside others, in one run.
//!
//! | command | what |
//! |---|---|
//! | `interposed` | a pair of `pthread_mutex_lock` and `_unlock` that nobody else wants, under each lock of `libhandover.so`, and under glibc |
//! | `uncontended` | the same of our locks, their adapters for lock_api, std, parking_lot, spin and glibc, in one process |
//! | `contended` | threads that take one of many locks by chance, as in matklad's lock-bench |
//! | `interrupted` | the first pair again, while another thread calls membarrier, as a thread does that goes to sleep |
//!
//! Each has rounds, in which every lock has its turn. The first one of a round is another each time. A figure is the median
//! of the rounds. Ratios are within a round. The raw data goes to a file, and the table to the standard output.

mod contended;
mod interposed;
mod interrupted;
mod methods;
mod pairs;
mod pthread;
mod table;
mod uncontended;

use std::{error::Error, path::PathBuf, process::ExitCode, time::Duration};

use clap::{Parser, Subcommand};

/// What our locks cost in user space, beside others, in one run.
#[derive(Parser)]
#[command(name = "handover-user-pairs")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// A pair through pthread_mutex_lock, under each lock of libhandover.so
    Interposed {
        /// The folder for user-interposed.csv
        folder: PathBuf,
        /// libhandover.so
        #[arg(long)]
        library: PathBuf,
        /// Rounds
        #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=999))]
        rounds: u32,
        /// Pairs a batch, of which a round has 51
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
        pairs: u32,
    },
    /// A pair of each lock in this process
    Uncontended {
        /// The folder for user-uncontended.csv
        folder: PathBuf,
        /// Rounds
        #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=999))]
        rounds: u32,
        /// Pairs a batch, of which a round has 51
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
        pairs: u32,
    },
    /// Threads that take one of many locks by chance
    Contended {
        /// The folder for user-contended.csv
        folder: PathBuf,
        /// Rounds
        #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=999))]
        rounds: u32,
        /// Milliseconds of each lock in a round
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=600_000))]
        milliseconds: u32,
        /// The kernel refuses membarrier
        #[arg(long)]
        no_membarrier: bool,
    },
    /// A pair while another thread calls membarrier
    Interrupted {
        /// The folder for user-interrupted.csv
        folder: PathBuf,
        /// Rounds
        #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=999))]
        rounds: u32,
        /// Pairs a round
        #[arg(long, default_value_t = 50_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000))]
        pairs: u64,
    },
    /// The program that `interposed` runs under each lock
    #[command(hide = true)]
    Pthread {
        pairs: u32,
        /// No other thread is there
        #[arg(long)]
        alone: bool,
    },
}

fn run(command: &Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Interposed {
            folder,
            library,
            rounds,
            pairs,
        } => interposed::run(folder, library, *rounds, *pairs),
        Command::Uncontended {
            folder,
            rounds,
            pairs,
        } => uncontended::run(folder, *rounds, *pairs),
        Command::Contended {
            folder,
            rounds,
            milliseconds,
            no_membarrier,
        } => contended::run(
            folder,
            *rounds,
            Duration::from_millis(u64::from(*milliseconds)),
            *no_membarrier,
        ),
        Command::Interrupted {
            folder,
            rounds,
            pairs,
        } => interrupted::run(folder, *rounds, *pairs),
        Command::Pthread { pairs, alone } => {
            interposed::pthread(*pairs, *alone);
            Ok(())
        }
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("handover-user-pairs: {why}");
            ExitCode::FAILURE
        }
    }
}
