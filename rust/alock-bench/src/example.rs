// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Runs that never were, for tests.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use alock::lock::Budgets;
use clap::Parser;

use crate::point::{histogram, Found, Lock, Point, Set, Worked};
use crate::record::{key_of, About, Merged, Record, Run};

#[derive(Parser)]
struct Options {
    #[command(flatten)]
    set: Set,
}

pub(crate) fn set(arguments: &str) -> Set {
    Options::parse_from(std::iter::once("x").chain(arguments.split_whitespace())).set
}

pub(crate) fn point(lock: Lock, nodes: u16, threads: u16, locks: u32, locality: u8) -> Point {
    let of = |number| NonZeroU32::new(number).unwrap();
    Point {
        lock,
        nodes,
        threads,
        locks,
        locality,
        budgets: Budgets {
            local: of(5),
            remote: of(20),
        },
        duration: Duration::from_millis(500),
        think: Duration::ZERO,
        hold: Duration::ZERO,
        at_work: nodes,
    }
}

/// A plausible one: ALock is fast where all is local, and more so with larger budgets.
pub(crate) fn found(point: &Point, round: u64) -> Found {
    let slow = match point.lock {
        Lock::Alock => 1.0 + f64::from(100 - point.locality),
        _ => 90.0 + 20.0 * f64::from(point.lock as u8),
    } / (1.0 + f64::from(point.budgets.remote.get()) / 100.0);
    let threads = (0..point.nodes * point.threads).map(|number| {
        let mut latency = histogram();
        for it in 0..40 {
            let ns = 2000.0 * slow * (1.0 + f64::from(it) / 9.0) * (1.0 + round as f64 / 10.0);
            latency.record(ns as u64 + u64::from(number)).unwrap();
        }
        Worked {
            operations: 40,
            seconds: latency.mean() * 40e-9,
            latency,
            work_requests: 80,
            queue_pairs: match point.lock {
                Lock::Alock => u64::from(point.nodes) - 1,
                _ => u64::from(point.nodes) + 1,
            },
        }
    });
    Found {
        threads: threads.collect(),
    }
}

/// What a whole run of these options would have left.
pub(crate) fn record(nodes: &[u16], arguments: &str) -> Record {
    let set = set(arguments);
    let (mut runs, mut merged) = (Vec::new(), Merged::default());
    for &nodes in nodes {
        for (round, point) in set.points(nodes).unwrap() {
            let found = found(&point, round);
            runs.push(Run::new(round, &point, &found));
            merged.add(key_of(&point), &found);
        }
    }
    Record {
        about: Some(About::new("rxe0", 8, &set, Some("1 < 2 & \"so on\""))),
        runs,
        points: merged.finish(),
    }
}

/// A folder of a test's own, gone with it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        let dir = format!("alock-bench-{}-{test}", std::process::id());
        let dir = std::env::temp_dir().join(dir);
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Best effort: it is in the folder for what may go.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
