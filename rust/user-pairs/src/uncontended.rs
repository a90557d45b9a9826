// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A lock that nobody else wants.

use std::{
    error::Error,
    path::Path,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::Instant,
};

use handover_measure::order;
use handover_user::register_barrier;

use crate::{
    interposed::sort,
    methods::{for_each_method, Method, BASE},
    table::{self, Sample},
};

/// The batches of a round.
pub(crate) const BATCHES: usize = 51;

/// Another thread, which sleeps. glibc's mutex has no locked instruction in a process of one thread.
pub(crate) fn a_second_thread() {
    thread::spawn(|| loop {
        thread::park();
    });
}

/// A cache line, so that nothing shares it.
#[repr(align(128))]
struct Line<T>(T);

/// Adds one with plain instructions: the section.
#[inline(always)]
pub(crate) fn add(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

/// Picoseconds a pair, of each batch. `pair` runs `add` as the owner of its lock.
///
/// # Panics
///
/// If a section did not run, or ran twice.
#[inline(always)]
pub(crate) fn batches(pairs: u32, pair: impl Fn(&AtomicU64)) -> Vec<u64> {
    let counter = Line(AtomicU64::new(0));
    let batches = (0..BATCHES)
        .map(|_| {
            let from = Instant::now();
            for _ in 0..pairs {
                pair(&counter.0);
            }
            (from.elapsed().as_nanos() * 1000 / u128::from(pairs)) as u64
        })
        .collect();
    assert_eq!(counter.0.into_inner(), u64::from(pairs) * BATCHES as u64);
    batches
}

/// One method, compiled by itself, so that each loop is laid out alike.
#[inline(never)]
fn measure<M: Method>(pairs: u32) -> Vec<u64> {
    let lock = Line(M::new());
    batches(pairs, |counter| lock.0.with(|| add(counter)))
}

pub(crate) fn run(folder: &Path, rounds: u32, pairs: u32) -> Result<(), Box<dyn Error>> {
    let has_barrier = register_barrier();
    a_second_thread();
    type Measure = fn(u32) -> Vec<u64>;
    let mut methods: Vec<(&'static str, Measure)> = Vec::new();
    macro_rules! each {
        ($name:literal, $method:ty) => {
            methods.push(($name, measure::<$method>))
        };
    }
    for_each_method!(each);
    let mut samples = Vec::new();
    for round in 0..rounds {
        eprintln!("uncontended: round {} of {rounds}", round + 1);
        for index in order::from(round as usize, methods.len()) {
            let (name, measure) = methods[index];
            samples.extend(Sample::of("", name, round, measure(pairs)));
        }
    }
    let names: Vec<&str> = methods.iter().map(|(name, _)| *name).collect();
    sort(&mut samples, &names);
    table::tell(&folder.join("user-uncontended.csv"), &samples, None, BASE)?;
    println!(
        "\nmembarrier: {}",
        if has_barrier { "granted" } else { "refused" }
    );
    Ok(())
}
