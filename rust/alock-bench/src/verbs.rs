// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A point on a real cluster: locks in registered memory, this process a node of it.

use std::fmt;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use alock::cluster::{Error, Kind, Node, Rendezvous, Settings, Thread};
use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::point::{histogram, Found, Lock, Point, Worked};
use crate::seeds;

/// A node's part.
#[derive(Debug, Serialize, Deserialize)]
struct Part {
    threads: Vec<Told>,
    /// What the node's data adds up to.
    sum: u64,
}

/// A thread's part as it goes over the wire.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    operations: u64,
    seconds: f64,
    /// Values and how often.
    latency: Vec<(u64, u64)>,
    work_requests: u64,
    queue_pairs: u64,
}

impl From<&Worked> for Told {
    fn from(it: &Worked) -> Self {
        let recorded = it.latency.iter_recorded();
        Self {
            operations: it.operations,
            seconds: it.seconds,
            latency: recorded
                .map(|it| (it.value_iterated_to(), it.count_at_value()))
                .collect(),
            work_requests: it.work_requests,
            queue_pairs: it.queue_pairs,
        }
    }
}

impl From<Told> for Worked {
    fn from(it: Told) -> Self {
        let mut latency = histogram();
        for (value, count) in it.latency {
            // It grows as it must.
            let _ = latency.record_n(value, count);
        }
        Self {
            operations: it.operations,
            seconds: it.seconds,
            latency,
            work_requests: it.work_requests,
            queue_pairs: it.queue_pairs,
        }
    }
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

/// A point that has begun and does not come to its end.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) why: Error,
    pub(crate) rank: u16,
    /// Operations of this node's threads that were over: each is in some node's memory.
    pub(crate) operations: u64,
    /// What this node's data adds up to.
    pub(crate) sum: u64,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl std::error::Error for Ended {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.why.source()
    }
}

/// Whether the cards keep the order of their writes ([`Thread::check_ordering`]).
///
/// # Errors
/// What was out of order, or kept it from being seen.
pub(crate) fn check_ordering(
    rendezvous: &Arc<Rendezvous>,
    nic: &nic::Options,
    polls_before_yield: u32,
    rounds: u64,
) -> Result<u64, Error> {
    let settings = Settings {
        locks: 1,
        polls_before_yield,
        nic: nic.clone(),
        ..Settings::default()
    };
    let node = Node::attach(Arc::clone(rendezvous), &settings)?;
    let threads = node.threads()?;
    let seen = threads
        .first()
        .map_or(Ok(0), |it| it.check_ordering(rounds));
    // A queue pair has two ends: until all are through.
    rendezvous.barrier()?;
    seen
}

/// Runs a point with the other nodes. Every node is told the same; `seed` is the round's.
///
/// # Errors
/// [`Ended`] where it has begun; else what kept it from that.
pub(crate) fn run(
    point: &Point,
    rendezvous: &Arc<Rendezvous>,
    nic: &nic::Options,
    polls_before_yield: u32,
    seed: u64,
) -> Result<Found, Box<dyn std::error::Error>> {
    let settings = Settings {
        kind: match point.lock {
            Lock::Alock => Kind::ALock,
            Lock::RdmaSpin => Kind::RdmaSpin,
            Lock::RdmaMcs => Kind::RdmaMcs,
            Lock::Busted => Kind::Busted,
        },
        locks: point.locks_of_a_node(),
        threads: point.threads,
        budgets: point.budgets,
        polls_before_yield,
        nic: nic.clone(),
        ..Settings::default()
    };
    let node = Node::attach(Arc::clone(rendezvous), &settings)?;
    let mut threads = node.threads()?;
    let start = Barrier::new(threads.len());
    let mut operations = vec![0; threads.len()];
    let worked = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..)
            .zip(threads.iter_mut().zip(&mut operations))
            .map(|(number, (thread, operations))| {
                let start = &start;
                let rank = rendezvous.rank();
                scope.spawn(move || {
                    let random = seeds::of_thread(seed, rank, number);
                    start.wait();
                    work(point, thread, rank, random, operations)
                })
            })
            .collect();
        let ended = workers.into_iter().map(|worker| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect::<Result<Vec<_>, Error>>()
    });
    // No thread changes anything any more, nor needs the other end of a queue pair.
    let worked = worked.and_then(|worked| rendezvous.barrier().map(|()| worked));
    // Also where a node is lost: from here on no verb reaches this node's memory, and what
    // it adds up to stays.
    drop(threads);
    let sum = (0..settings.locks)
        .filter_map(|number| node.peek(number, 0))
        .sum();
    let ended = |why| Ended {
        why,
        rank: rendezvous.rank(),
        operations: operations.iter().sum(),
        sum,
    };
    let worked = worked.map_err(ended)?;
    let mine = Part {
        threads: worked.iter().map(Told::from).collect(),
        sum,
    };
    let parts = rendezvous.exchange(&mine).map_err(ended)?;
    let changes = parts.iter().map(|part| part.sum).sum();
    let threads = parts.into_iter().flat_map(|part| part.threads);
    Ok(Found::checked(
        threads.map(Worked::from).collect(),
        changes,
    )?)
}

/// A thread's part. `operations` are those that are over, also where it ends with an error.
fn work(
    point: &Point,
    thread: &mut Thread,
    rank: u16,
    mut random: impl Rng,
    operations: &mut u64,
) -> Result<Worked, Error> {
    let mut latency = histogram();
    let before = thread.work_requests();
    let start = Instant::now();
    let mut now = start;
    let works = rank < point.at_work;
    while works && now - start < point.duration {
        let (node, number) = point.choose(rank, &mut random);
        let key = u64::from(node) * u64::from(point.locks_of_a_node()) + u64::from(number);
        let began = if point.think.is_zero() {
            now
        } else {
            Instant::now()
        };
        let mut guard = thread.lock(key)?;
        let value = guard.load(0)?;
        spend(point.hold);
        guard.store(0, value + 1)?;
        guard.unlock()?;
        now = Instant::now();
        // It grows as it must.
        let _ = latency.record((now - began).as_nanos() as u64);
        *operations += 1;
        if !point.think.is_zero() {
            spend(point.think);
            now = Instant::now();
        }
    }
    Ok(Worked {
        operations: *operations,
        seconds: (now - start).as_secs_f64(),
        latency,
        work_requests: thread.work_requests() - before,
        queue_pairs: thread.queue_pairs() as u64,
    })
}
