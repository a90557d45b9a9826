//! One point: so many threads, locks and so on, for a while.

use std::num::NonZeroU32;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use alock::cluster::{Error, Kind, Node, Rendezvous, Settings, Thread};
use alock::lock::Budgets;
use clap::{Args, ValueEnum};
use hdrhistogram::Histogram;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

/// A kind of lock, as it is called in options and tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[value(rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub(crate) enum Lock {
    Alock,
    RdmaSpin,
    RdmaMcs,
    /// Excludes nobody; to see that the end's check finds that
    Busted,
}

/// What is measured: every combination, in rounds.
#[derive(Clone, Debug, Args)]
pub(crate) struct Set {
    /// Kinds of locks
    #[arg(long = "lock", value_delimiter = ',', default_values = ["alock", "rdma_spin", "rdma_mcs"])]
    kinds: Vec<Lock>,
    /// Threads a node
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    threads: Vec<u16>,
    /// Locks of all nodes (rounded up to as many on each)
    #[arg(long, value_delimiter = ',', default_values_t = [20, 100, 1000])]
    locks: Vec<u32>,
    /// How much of the operations are on the own node's locks, in percent
    #[arg(long, value_delimiter = ',', default_values_t = [85, 95, 100])]
    locality: Vec<u8>,
    /// Of the local cohort
    #[arg(long, default_value = "5")]
    local_budget: NonZeroU32,
    /// Of the remote cohort
    #[arg(long, default_value = "20")]
    remote_budget: NonZeroU32,
    /// Of a point, in ms
    #[arg(long, default_value_t = 500)]
    duration: u64,
    /// Between two operations, in ns
    #[arg(long, default_value_t = 0)]
    think: u64,
    /// Under the lock, in ns, besides the change
    #[arg(long, default_value_t = 0)]
    hold: u64,
    /// Of every point; each begins with another kind
    #[arg(long, default_value_t = 5)]
    rounds: u64,
    /// Of the choice of locks
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
    budgets: Budgets,
    duration: Duration,
    think: Duration,
    hold: Duration,
}

/// What a point showed, of all threads of all nodes.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) operations: u64,
    /// The longest of the threads' times.
    pub(crate) seconds: f64,
    /// Of a lock, the change and the unlock, in ns.
    pub(crate) latency: Histogram<u64>,
    pub(crate) work_requests: u64,
    pub(crate) queue_pairs: u64,
    /// Per thread, by rank.
    pub(crate) by_thread: Vec<u64>,
}

/// A node's part.
#[derive(Debug, Serialize, Deserialize)]
struct Part {
    by_thread: Vec<u64>,
    seconds: f64,
    /// Values and how often.
    latency: Vec<(u64, u64)>,
    work_requests: u64,
    queue_pairs: u64,
    /// What the node's data adds up to.
    sum: u64,
}

impl Set {
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
            (
                "one node alone has --locality 100",
                nodes > 1 || self.locality == [100],
            ),
        ] {
            if !good {
                return Err(what.into());
            }
        }
        let mut points = Vec::new();
        for round in 0..self.rounds {
            for &threads in &self.threads {
                for &locks in &self.locks {
                    for &locality in &self.locality {
                        for turn in 0..self.kinds.len() {
                            let turn = (turn + round as usize) % self.kinds.len();
                            let point = Point {
                                lock: self.kinds[turn],
                                nodes,
                                threads,
                                locks,
                                locality,
                                budgets: Budgets {
                                    local: self.local_budget,
                                    remote: self.remote_budget,
                                },
                                duration: Duration::from_millis(self.duration),
                                think: Duration::from_nanos(self.think),
                                hold: Duration::from_nanos(self.hold),
                            };
                            points.push((round, point));
                        }
                    }
                }
            }
        }
        Ok(points)
    }
}

fn histogram() -> Histogram<u64> {
    // Three digits; it grows as it must.
    Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are allowed"))
}

fn spend(time: Duration) {
    if time.is_zero() {
        return;
    }
    let until = Instant::now() + time;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

impl Point {
    /// Runs it with the other nodes. Every node is told the same.
    pub(crate) fn run(
        &self,
        rendezvous: &Arc<Rendezvous>,
        nic: &nic::Options,
        seed: u64,
    ) -> Result<Found, Error> {
        let settings = Settings {
            kind: match self.lock {
                Lock::Alock => Kind::ALock,
                Lock::RdmaSpin => Kind::RdmaSpin,
                Lock::RdmaMcs => Kind::RdmaMcs,
                Lock::Busted => Kind::Busted,
            },
            locks: self.locks.div_ceil(self.nodes.into()),
            threads: self.threads,
            budgets: self.budgets,
            nic: nic.clone(),
            ..Settings::default()
        };
        let node = Node::attach(Arc::clone(rendezvous), &settings)?;
        let mut threads = node.threads()?;
        let start = Barrier::new(threads.len());
        let found = std::thread::scope(|scope| {
            let workers: Vec<_> = threads
                .iter_mut()
                .enumerate()
                .map(|(number, thread)| {
                    let (start, settings) = (&start, &settings);
                    let seed = (seed << 32) | (u64::from(rendezvous.rank()) << 16) | number as u64;
                    scope.spawn(move || {
                        start.wait();
                        self.work(thread, settings.locks, rendezvous.rank(), seed)
                    })
                })
                .collect();
            let ended = workers.into_iter().map(|worker| match worker.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            ended.collect::<Result<Vec<_>, Error>>()
        })?;
        // Nobody changes anything any more, nor needs the other end of a queue pair.
        rendezvous.barrier()?;
        drop(threads);
        let mut latency = histogram();
        for worker in &found {
            // Histograms of one kind.
            let _ = latency.add(&worker.latency);
        }
        let sum = (0..settings.locks)
            .filter_map(|number| node.peek(number, 0))
            .sum();
        let recorded = latency.iter_recorded();
        let mine = Part {
            by_thread: found.iter().map(|worker| worker.operations).collect(),
            seconds: found
                .iter()
                .map(|worker| worker.seconds)
                .fold(0.0, f64::max),
            latency: recorded
                .map(|it| (it.value_iterated_to(), it.count_at_value()))
                .collect(),
            work_requests: found.iter().map(|worker| worker.work_requests).sum(),
            queue_pairs: found.iter().map(|worker| worker.queue_pairs).sum(),
            sum,
        };
        Self::gather(&rendezvous.exchange(&mine)?)
    }

    fn gather(parts: &[Part]) -> Result<Found, Error> {
        let mut latency = histogram();
        for &(value, count) in parts.iter().flat_map(|part| &part.latency) {
            let _ = latency.record_n(value, count);
        }
        let operations = parts.iter().flat_map(|part| &part.by_thread).sum();
        let sum: u64 = parts.iter().map(|part| part.sum).sum();
        if sum != operations {
            return Err(Error::Mismatch(format!(
                "{operations} operations changed the data {sum} times: an update was lost"
            )));
        }
        Ok(Found {
            operations,
            seconds: parts.iter().map(|part| part.seconds).fold(0.0, f64::max),
            latency,
            work_requests: parts.iter().map(|part| part.work_requests).sum(),
            queue_pairs: parts.iter().map(|part| part.queue_pairs).sum(),
            by_thread: parts
                .iter()
                .flat_map(|part| part.by_thread.clone())
                .collect(),
        })
    }

    /// A thread's part.
    fn work(&self, thread: &mut Thread, locks: u32, rank: u16, seed: u64) -> Result<Worked, Error> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let (locks, rank, nodes) = (u64::from(locks), u64::from(rank), u64::from(self.nodes));
        let mut latency = histogram();
        let before = thread.work_requests();
        let start = Instant::now();
        let mut operations = 0;
        let mut now = start;
        while now - start < self.duration {
            let mut node = rank;
            if random.random_range(0..100) >= self.locality {
                node = (rank + 1 + random.random_range(0..nodes - 1)) % nodes;
            }
            let key = node * locks + random.random_range(0..locks);
            let began = if self.think.is_zero() {
                now
            } else {
                Instant::now()
            };
            let mut guard = thread.lock(key)?;
            let value = guard.load(0)?;
            spend(self.hold);
            guard.store(0, value + 1)?;
            guard.unlock()?;
            now = Instant::now();
            let _ = latency.record((now - began).as_nanos() as u64);
            operations += 1;
            if !self.think.is_zero() {
                spend(self.think);
                now = Instant::now();
            }
        }
        Ok(Worked {
            operations,
            seconds: (now - start).as_secs_f64(),
            latency,
            work_requests: thread.work_requests() - before,
            queue_pairs: thread.queue_pairs() as u64,
        })
    }
}

#[derive(Debug)]
struct Worked {
    operations: u64,
    seconds: f64,
    latency: Histogram<u64>,
    work_requests: u64,
    queue_pairs: u64,
}
