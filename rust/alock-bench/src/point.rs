// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Points: so many threads, locks and so on, for a while; and what one showed, whichever
//! the device.

use std::num::NonZeroU32;
use std::time::Duration;

use alock::lock::Budgets;
use clap::Args;
pub(crate) use figures::alock::Lock;
use hdrhistogram::Histogram;
use rand::Rng;
use serde::{Deserialize, Serialize};

/// What is measured: every combination, in rounds.
#[derive(Clone, Debug, PartialEq, Args, Serialize, Deserialize)]
pub(crate) struct Set {
    /// Kinds of locks
    #[serde(rename = "lock")]
    #[arg(long = "lock", value_delimiter = ',', default_values = ["alock", "rdma_spin", "rdma_mcs"])]
    kinds: Vec<Lock>,
    /// Threads a node
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    threads: Vec<u16>,
    /// Locks of all nodes, rounded up to as many on each
    #[arg(long, value_delimiter = ',', default_values_t = [20, 100, 1000])]
    locks: Vec<u32>,
    /// The share of operations on the own node's locks, in percent
    #[arg(long, value_delimiter = ',', default_values_t = [85, 95, 100])]
    locality: Vec<u8>,
    /// How often the local cohort may enter while the remote one waits. ALock runs with every
    /// pair of budgets; summary.csv has the first
    #[arg(long, value_delimiter = ',', default_values = ["5"])]
    local_budget: Vec<NonZeroU32>,
    /// How often the remote cohort may enter while the local one waits
    #[arg(long, value_delimiter = ',', default_values = ["20"])]
    remote_budget: Vec<NonZeroU32>,
    /// The length of each run, in ms
    #[arg(long, default_value_t = 500)]
    duration: u64,
    /// The time that a thread waits between two operations, in ns
    #[arg(long, default_value_t = 0)]
    think: u64,
    /// The time that a thread holds the lock, in ns, besides the change
    #[arg(long, default_value_t = 0)]
    hold: u64,
    /// The number of nodes whose threads work, from rank 0 on. The others only lend their memory
    /// [default: all]
    #[arg(long)]
    at_work: Option<u16>,
    /// The rounds: every combination runs once in each. Each round begins with another lock
    #[arg(long, default_value_t = 5)]
    rounds: u64,
    /// The seed of the threads' choices of locks. The same seed gives the same choices; each
    /// round has its own
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) lock: Lock,
    pub(crate) nodes: u16,
    pub(crate) threads: u16,
    pub(crate) locks: u32,
    pub(crate) locality: u8,
    pub(crate) budgets: Budgets,
    pub(crate) duration: Duration,
    pub(crate) think: Duration,
    pub(crate) hold: Duration,
    /// The nodes whose threads work.
    pub(crate) at_work: u16,
}

/// What a point showed.
#[derive(Debug)]
pub(crate) struct Found {
    /// The work of each thread, by rank and number.
    pub(crate) threads: Vec<Worked>,
}

/// What a thread did.
#[derive(Debug)]
pub(crate) struct Worked {
    pub(crate) operations: u64,
    pub(crate) seconds: f64,
    /// The time of a lock, the change and the unlock, in ns.
    pub(crate) latency: Histogram<u64>,
    pub(crate) work_requests: u64,
    /// The queue pairs of its node's card that this thread holds.
    pub(crate) queue_pairs: u64,
}

/// An empty one of three digits, which grows as it must.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are allowed"))
}

impl Found {
    /// Takes these threads' work, if the locks' data was changed as often as they say.
    pub(crate) fn checked(threads: Vec<Worked>, changes: u64) -> Result<Self, String> {
        let it = Self { threads };
        if changes != it.operations() {
            return Err(format!(
                "{} operations changed the data {changes} times: an update was lost",
                it.operations()
            ));
        }
        Ok(it)
    }

    pub(crate) fn operations(&self) -> u64 {
        self.threads.iter().map(|it| it.operations).sum()
    }

    /// The longest of the threads' times.
    pub(crate) fn seconds(&self) -> f64 {
        self.threads.iter().map(|it| it.seconds).fold(0.0, f64::max)
    }

    /// Operations per second, of all threads.
    pub(crate) fn throughput(&self) -> f64 {
        self.operations() as f64 / self.seconds()
    }

    /// The latencies of all threads together.
    pub(crate) fn latency(&self) -> Histogram<u64> {
        let mut all = histogram();
        for thread in &self.threads {
            // Histograms of one kind.
            let _ = all.add(&thread.latency);
        }
        all
    }

    pub(crate) fn work_requests(&self) -> u64 {
        self.threads.iter().map(|it| it.work_requests).sum()
    }

    pub(crate) fn queue_pairs(&self) -> u64 {
        self.threads.iter().map(|it| it.queue_pairs).sum()
    }
}

impl Point {
    /// The locks of each node.
    pub(crate) fn locks_of_a_node(&self) -> u32 {
        self.locks.div_ceil(self.nodes.into())
    }

    /// Chooses the node and the lock of an operation of a thread of node `rank`.
    pub(crate) fn choose(&self, rank: u16, random: &mut impl Rng) -> (u16, u32) {
        let mut node = rank;
        if random.random_range(0..100) >= self.locality {
            let away = random.random_range(1..u32::from(self.nodes));
            node = ((u32::from(rank) + away) % u32::from(self.nodes)) as u16;
        }
        (node, random.random_range(0..self.locks_of_a_node()))
    }
}

impl Set {
    /// Replaces defaults. `chosen` says whether an option was given.
    pub(crate) fn or_else(
        mut self,
        chosen: impl Fn(&str) -> bool,
        threads: &[u16],
        locality: &[u8],
        duration: u64,
        rounds: u64,
    ) -> Self {
        if !chosen("threads") {
            self.threads = threads.to_vec();
        }
        if !chosen("locality") {
            self.locality = locality.to_vec();
        }
        if !chosen("duration") {
            self.duration = duration;
        }
        if !chosen("rounds") {
            self.rounds = rounds;
        }
        self
    }

    /// Everything that is to be run, in its order, with the number of its round.
    pub(crate) fn points(&self, nodes: u16) -> Result<Vec<(u64, Point)>, String> {
        for (what, good) in [
            (
                "--locality is of 0 to 100",
                self.locality.iter().all(|&l| l <= 100),
            ),
            ("--locks is at least 1", self.locks.iter().all(|&l| l >= 1)),
            (
                "--threads is at least 1",
                self.threads.iter().all(|&t| t >= 1),
            ),
            ("--duration is at least 1", self.duration >= 1),
            ("--rounds is at least 1", self.rounds >= 1),
            (
                "--at-work is of 1 to the number of nodes",
                self.at_work
                    .is_none_or(|at_work| (1..=nodes).contains(&at_work)),
            ),
            (
                "one node alone has --locality 100",
                nodes > 1 || self.locality == [100],
            ),
        ] {
            if !good {
                return Err(what.into());
            }
        }
        let series = self.series();
        let mut points = Vec::new();
        for round in 0..self.rounds {
            for &threads in &self.threads {
                for &locks in &self.locks {
                    for &locality in &self.locality {
                        for turn in 0..series.len() {
                            let (lock, budgets) = series[(turn + round as usize) % series.len()];
                            let point = Point {
                                lock,
                                nodes,
                                threads,
                                locks,
                                locality,
                                budgets,
                                duration: Duration::from_millis(self.duration),
                                think: Duration::from_nanos(self.think),
                                hold: Duration::from_nanos(self.hold),
                                at_work: self.at_work.unwrap_or(nodes),
                            };
                            points.push((round, point));
                        }
                    }
                }
            }
        }
        Ok(points)
    }

    /// The locks that are compared: ALock with every pair of budgets; another lock once.
    fn series(&self) -> Vec<(Lock, Budgets)> {
        let mut pairs = Vec::new();
        for &local in &self.local_budget {
            for &remote in &self.remote_budget {
                pairs.push(Budgets { local, remote });
            }
        }
        let mut series = Vec::new();
        for &lock in &self.kinds {
            let pairs = if lock.has_budgets() {
                &pairs[..]
            } else {
                &pairs[..1]
            };
            series.extend(pairs.iter().map(|&budgets| (lock, budgets)));
        }
        series
    }
}

#[cfg(test)]
mod tests {
    use crate::example::set;

    #[test]
    fn every_pair_of_budgets_is_a_series_and_baselines_run_once() {
        let set = set(
            "--threads 1 --locks 20 --locality 85 --rounds 2 --local-budget 5,7 --remote-budget 5,20",
        );
        let points = set.points(2).unwrap();
        let round = |round| {
            let of_it = points.iter().filter(move |(its, _)| *its == round);
            of_it.map(|(_, it)| {
                let pair = it
                    .lock
                    .has_budgets()
                    .then(|| (it.budgets.local.get(), it.budgets.remote.get()));
                (it.lock.name(), pair)
            })
        };
        let mut first: Vec<_> = round(0).collect();
        assert_eq!(
            first,
            [
                ("alock", Some((5, 5))),
                ("alock", Some((5, 20))),
                ("alock", Some((7, 5))),
                ("alock", Some((7, 20))),
                ("rdma_spin", None),
                ("rdma_mcs", None),
            ]
        );
        // Interleaved: each round begins with another.
        first.rotate_left(1);
        assert_eq!(round(1).collect::<Vec<_>>(), first);
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        for (arguments, text) in [
            ("--locality 101", "--locality is of 0 to 100"),
            ("--locks 0", "--locks"),
            ("--threads 0", "--threads"),
            ("--duration 0", "--duration"),
            ("--rounds 0", "--rounds"),
        ] {
            let said = set(arguments).points(2).unwrap_err();
            assert!(said.contains(text), "{said}");
        }
        assert!(set("").points(1).unwrap_err().contains("--locality 100"));
    }
}
