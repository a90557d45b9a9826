// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0

//! Searches without a bound.

use std::{
    sync::{
        atomic::{AtomicU64, Ordering::Relaxed},
        Arc,
    },
    time::Instant,
};

use loom::model::Builder;

/// Runs `scenario` in every execution that loom tells apart, and prints under
/// `name` how many there were.
///
/// No bound cuts the search off. That is all that 'complete' means: to decide
/// which orders differ, loom 0.7 compares an access with the last one to its
/// word alone, so a thread that loads a word before it stores to it hides an
/// earlier load by another, and the order in which the store comes first may be
/// passed over. What a search finds is checked by the mutants.
///
/// # Panics
///
/// If an execution panics, deadlocks or does not end; and if the environment
/// (`LOOM_MAX_PREEMPTIONS` and its like) would cut the search off: loom reports
/// success then.
pub fn search(name: &str, scenario: impl Fn() + Send + Sync + 'static) {
    let builder = Builder::new();
    assert!(
        builder.max_duration.is_none()
            && builder.max_permutations.is_none()
            && builder.preemption_bound.is_none()
            && builder.checkpoint_file.is_none(),
        "the environment bounds the search: {builder:?}"
    );
    let executions = Arc::new(AtomicU64::new(0));
    let count = executions.clone();
    let from = Instant::now();
    builder.check(move || {
        count.fetch_add(1, Relaxed);
        scenario();
    });
    let executions = executions.load(Relaxed);
    assert!(executions > 1, "{name}: nothing was searched");
    println!(
        "search {name}: {executions} executions, {:.1} s, complete",
        from.elapsed().as_secs_f64()
    );
}
