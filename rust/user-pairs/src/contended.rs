// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Threads that take one of many locks by chance, and add one to what it protects.
//!
//! The shape is that of matklad's lock-bench: threads and locks. Few locks are much contention. lock-bench gives each
//! thread so many sections; here all threads have so much time. Where threads outnumber CPUs, a hand-over of a FIFO lock
//! that spins takes a turn of the scheduler. So many sections would take hours.

use std::{
    cell::UnsafeCell,
    error::Error,
    path::Path,
    sync::{
        atomic::{AtomicBool, Ordering::Relaxed},
        Barrier,
    },
    thread,
    time::{Duration, Instant},
};

use handover_measure::{order, prng::Prng};
use handover_user::register_barrier;

use crate::{
    interposed::refuse_membarrier,
    methods::{for_each_mutex, Method, BASE},
    pairs::Line,
    table::{self, Sample},
};

/// Threads, and locks.
const SHAPES: [(usize, usize); 8] = [
    (2, 2),
    (2, 64),
    (2, 1000),
    (2, 100_000),
    (16, 2),
    (16, 64),
    (16, 1000),
    (16, 100_000),
];

/// A lock and its counter, apart from all others.
#[repr(align(128))]
struct Place<M> {
    lock: M,
    count: UnsafeCell<u64>,
}

// SAFETY: The lock's owner alone accesses the counter.
unsafe impl<M: Sync> Sync for Place<M> {}

/// Picoseconds a section: the time from the first thread's begin to the last one's end, over all sections.
///
/// Each thread has one section at least.
///
/// # Panics
///
/// If a section is lost.
fn measure<M: Method>(threads: usize, locks: usize, time: Duration) -> u64 {
    let places: Vec<Place<M>> = (0..locks)
        .map(|_| Place {
            lock: M::new(),
            count: UnsafeCell::new(0),
        })
        .collect();
    let places = &places;
    let begin = &Barrier::new(threads + 1);
    let is_over = &Line(AtomicBool::new(false));
    let work = |thread| {
        move || {
            let mut by_chance = Prng::new(thread as u64 + 1);
            let mut sections = 0;
            begin.wait();
            let from = Instant::now();
            loop {
                let place = &places[by_chance.below(locks as u32) as usize];
                // SAFETY: This thread owns the lock.
                place.lock.with(|| unsafe { *place.count.get() += 1 });
                sections += 1;
                if is_over.0.load(Relaxed) {
                    return (from, Instant::now(), sections);
                }
            }
        }
    };
    let done: Vec<(Instant, Instant, u64)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(work(thread)))
            .collect();
        begin.wait();
        thread::sleep(time);
        is_over.0.store(true, Relaxed);
        threads
            .into_iter()
            .map(|thread| thread.join().expect("it counts"))
            .collect()
    });
    let from = done.iter().map(|(from, ..)| *from).min();
    let to = done.iter().map(|(_, to, _)| *to).max();
    let time = from.zip(to).map_or(Duration::ZERO, |(from, to)| to - from);
    let made: u64 = done.iter().map(|(.., sections)| sections).sum();
    // SAFETY: All threads have ended.
    let sum: u64 = places
        .iter()
        .map(|place| unsafe { *place.count.get() })
        .sum();
    assert_eq!(sum, made, "a section is lost");
    (time.as_nanos() * 1000 / u128::from(made)) as u64
}

pub(crate) fn run(
    folder: &Path,
    rounds: u32,
    time: Duration,
    is_refused: bool,
) -> Result<(), Box<dyn Error>> {
    if is_refused {
        refuse_membarrier()?;
    }
    let has_barrier = register_barrier();
    type Measure = fn(usize, usize, Duration) -> u64;
    let mut methods: Vec<(&'static str, Measure)> = Vec::new();
    macro_rules! each {
        ($name:literal, $method:ty) => {
            methods.push(($name, measure::<$method>))
        };
    }
    for_each_mutex!(each);
    let names: Vec<&str> = methods.iter().map(|(name, _)| *name).collect();
    let mut all = Vec::new();
    for (threads, locks) in SHAPES {
        let shape = format!("{threads} / {locks}");
        let mut samples = Vec::new();
        for round in 0..rounds {
            eprintln!("contended: {shape}, round {} of {rounds}", round + 1);
            for index in order::from(round as usize, methods.len()) {
                let (name, measure) = methods[index];
                let time = measure(threads, locks, time);
                samples.extend(Sample::of(&shape, name, round, vec![time]));
            }
        }
        table::sort(&mut samples, &names);
        all.append(&mut samples);
    }
    table::tell(
        &folder.join("user-contended.csv"),
        &all,
        Some("threads / locks"),
        BASE,
    )?;
    println!(
        "\nmembarrier: {}",
        if has_barrier { "granted" } else { "refused" }
    );
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    println!("{cpus} CPUs; more threads than CPUs are for correctness, and say nothing of speed.");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_counts_every_section() {
        macro_rules! each {
            ($name:literal, $method:ty) => {
                assert!(
                    measure::<$method>(3, 2, Duration::from_millis(20)) > 0,
                    $name
                )
            };
        }
        crate::methods::for_each_method!(each);
    }
}
