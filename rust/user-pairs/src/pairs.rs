// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Batches of pairs.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::Instant,
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
pub(crate) struct Line<T>(pub(crate) T);

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
