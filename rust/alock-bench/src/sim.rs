// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A point on a simulated cluster: one process, virtual time, the same locks.

mod table;
mod worker;

use std::fmt::Write as _;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use alock::ptr::NodeId;
use alock_sim::{Cluster, Connections, Costs, End};
use clap::{Args, ValueEnum};

use crate::point::{Found, Lock, Point, Set};
use crate::seeds;
use table::Table;
use worker::Worker;

/// What `--device` calls it.
pub(crate) const NAME: &str = "sim";

/// How a thread is connected with the other nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Pairs {
    /// One thread of each, as on a real device
    #[default]
    One,
    /// Each of their threads, by one queue pair each way, as the paper counts them
    Full,
}

/// Options of `--device sim` alone.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "With --device sim")]
pub(crate) struct Options {
    /// Another cost, as NAME=NUMBER. costs.csv lists all costs with their sources
    #[arg(long, value_delimiter = ',')]
    set: Vec<String>,
    /// Queue pairs of a thread
    #[arg(long, value_enum, default_value_t)]
    pairs: Pairs,
    /// Nothing under the lock, as in the paper: the change of the data takes one ns
    #[arg(long)]
    empty: bool,
    /// Points at the same time [default: as many as CPUs]
    #[arg(long)]
    jobs: Option<usize>,
}

impl Options {
    /// Whether one of them was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        [
            (!self.set.is_empty(), "--set"),
            (self.pairs != Pairs::default(), "--pairs"),
            (self.empty, "--empty"),
            (self.jobs.is_some(), "--jobs"),
        ]
        .into_iter()
        .find_map(|(is, name)| is.then_some(name))
    }

    /// The costs, with what was changed.
    pub(crate) fn costs(&self) -> Result<Costs, String> {
        let mut costs = Costs::connectx3();
        for change in &self.set {
            let (name, value) = change
                .split_once('=')
                .ok_or(format!("--set {change}: NAME=NUMBER"))?;
            let known = Costs::CONSTANTS.iter().find(|it| it.name == name);
            let Some(constant) = known else {
                let names: Vec<_> = Costs::CONSTANTS.iter().map(|it| it.name).collect();
                return Err(format!("--set {change}: one of {}", names.join(", ")));
            };
            let value = value.parse().ok().filter(|&it: &u64| it <= MOST);
            *(constant.get_mut)(&mut costs) =
                value.ok_or(format!("--set {change}: a number of 0 to {MOST}"))?;
        }
        Ok(costs)
    }
}

/// What the results hang on, as a file.
pub(crate) fn write_costs(costs: &Costs, out: &Path) -> csv::Result<()> {
    let mut file = csv::Writer::from_path(out.join("costs.csv"))?;
    file.write_record(["name", "value", "what", "source"])?;
    for it in Costs::CONSTANTS {
        let value = (it.get)(costs);
        let source = if value == (it.get)(&Costs::connectx3()) {
            it.source
        } else {
            "--set"
        };
        file.write_record([it.name, &value.to_string(), it.what, source])?;
    }
    Ok(file.flush()?)
}

/// The same, below the table.
pub(crate) fn small_print(costs: &Costs) -> String {
    let mut text = String::from("simulated: virtual time; costs.csv says where these are from:\n");
    for (number, it) in Costs::CONSTANTS.iter().enumerate() {
        let between = if number == 0 { "" } else { ", " };
        // To a string.
        let _ = write!(text, "{between}{} {}", it.name, (it.get)(costs));
    }
    text.push('\n');
    text
}

/// The greatest value of a constant: a second.
const MOST: u64 = 1_000_000_000;

/// The nodes of a run without `--nodes`, and what else is other there than on real devices.
const NODES: [u16; 3] = [5, 10, 20];
const THREADS: [u16; 5] = [1, 2, 4, 8, 12];
const LOCALITY: [u8; 4] = [85, 90, 95, 100];
/// The length of each run, in ms.
const DURATION: u64 = 5;
const ROUNDS: u64 = 3;

/// What is measured, and everything that is to be run. `chosen` says whether an option was
/// given.
pub(crate) fn points(
    set: &Set,
    nodes: &[u16],
    chosen: impl Fn(&str) -> bool,
) -> Result<(Set, Vec<(u64, Point)>), String> {
    let set = set
        .clone()
        .or_else(&chosen, &THREADS, &LOCALITY, DURATION, ROUNDS);
    let nodes = if nodes.is_empty() { &NODES } else { nodes };
    if nodes.contains(&0) {
        return Err("--nodes is at least 1".into());
    }
    let mut points = Vec::new();
    for &nodes in nodes {
        points.extend(set.points(nodes)?);
    }
    if let Some((_, point)) = points.iter().find(|(_, it)| it.threads > 64) {
        return Err(format!(
            "--threads {}: at most 64 with --device sim",
            point.threads
        ));
    }
    // A round is over before the next one begins.
    points.sort_by_key(|(round, _)| *round);
    Ok((set, points))
}

/// Runs one point. One seed, one result; `seed` is the round's.
pub(crate) fn run(
    point: &Point,
    options: &Options,
    costs: Costs,
    seed: u64,
) -> Result<Found, String> {
    let connections = Connections {
        threads: point.threads,
        loopback: matches!(point.lock, Lock::RdmaSpin | Lock::RdmaMcs),
        full: options.pairs == Pairs::Full,
    };
    let table = Table::new(point);
    let cluster = Cluster::new(point.nodes, table.bytes(), costs, seed);
    let mut workers = Vec::new();
    for rank in 0..point.nodes {
        for thread in 0..point.threads {
            let worker = Worker::new(
                *point,
                options.empty,
                table,
                &cluster,
                NodeId(rank),
                thread,
                connections,
            );
            let worker = Rc::new(worker);
            let random = seeds::of_thread(seed, rank, thread);
            cluster.spawn(NodeId(rank), Rc::clone(&worker).live(random));
            workers.push(worker);
        }
    }
    // A second more than it should take, in which the last ones get their locks.
    let end = cluster.run(point.duration.as_nanos() as u64 + 1_000_000_000);
    if end != End::Finished {
        return Err(format!(
            "{point:?}: {end:?}: some threads got no lock any more"
        ));
    }
    let worked = workers.iter().map(|it| it.worked());
    let threads = worked.collect::<Result<_, _>>()?;
    let late: u64 = workers.iter().map(|it| it.late()).sum();
    Found::checked(threads, table.sum(&cluster).wrapping_sub(late))
}

/// Runs points, several at once; calls `each` with the results, in the points' order.
pub(crate) fn run_all<E: From<String>>(
    points: &[(u64, Point)],
    options: &Options,
    seed: u64,
    mut each: impl FnMut(usize, u64, &Point, &Found) -> Result<(), E>,
) -> Result<(), E> {
    let costs = options.costs()?;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = options.jobs.unwrap_or(cpus).clamp(1, points.len().max(1));
    let next = AtomicUsize::new(0);
    let (tell, told) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (tell, next) = (tell.clone(), &next);
            scope.spawn(move || loop {
                // Which one; nothing else is passed on by it.
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some((round, point)) = points.get(number) else {
                    return;
                };
                let seed = seeds::of_round(seed, *round);
                let found = run(point, options, costs, seed);
                let failed = found.is_err();
                if tell.send((number, found)).is_err() || failed {
                    next.store(points.len(), Ordering::Relaxed);
                    return;
                }
            });
        }
        drop(tell);
        let mut early: Vec<Option<Found>> = points.iter().map(|_| None).collect();
        let mut first = 0;
        for (number, found) in told {
            early[number] = Some(found?);
            while let Some(found) = early.get_mut(first).and_then(Option::take) {
                let (round, point) = &points[first];
                each(first, *round, point, &found)?;
                first += 1;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
