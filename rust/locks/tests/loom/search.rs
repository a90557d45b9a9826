// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Searches, without a bound or with one that is told.

use std::{
    env,
    sync::{
        atomic::{AtomicU64, Ordering::Relaxed},
        Arc,
    },
    time::Instant,
};

use loom::model::Builder;

/// The bound of `most` preemptions, or none: `SEARCH_LONG` takes it off.
pub(crate) fn bounded(most: usize) -> Option<usize> {
    env::var_os("SEARCH_LONG").is_none().then_some(most)
}

/// Runs `scenario` in every execution that loom tells apart, and prints under
/// `name` how many there were.
///
/// No bound cuts the search off, but `preemptions` where it is given: an execution then has so many at
/// most. 'Complete' means no more than that. To decide
/// which orders differ, loom 0.7 compares an access with the last access to its
/// word alone. A thread that loads a word before it stores to it so hides an
/// earlier load by another thread. The order in which the store comes first may
/// then be passed over. The mutants check what a search finds.
///
/// # Panics
///
/// If an execution panics, deadlocks or does not end. Also if the environment
/// (`LOOM_MAX_PREEMPTIONS` and its like) would cut the search off: loom reports
/// success then.
pub(crate) fn search(
    name: &str,
    preemptions: Option<usize>,
    scenario: impl Fn() + Send + Sync + 'static,
) {
    let mut builder = Builder::new();
    assert!(
        builder.max_duration.is_none()
            && builder.max_permutations.is_none()
            && builder.preemption_bound.is_none()
            && builder.checkpoint_file.is_none(),
        "the environment bounds the search: {builder:?}"
    );
    builder.preemption_bound = preemptions;
    let executions = Arc::new(AtomicU64::new(0));
    let count = executions.clone();
    let from = Instant::now();
    builder.check(move || {
        count.fetch_add(1, Relaxed);
        scenario();
    });
    let executions = executions.load(Relaxed);
    assert!(executions > 1, "{name}: nothing was searched");
    let bound = preemptions.map_or("complete".to_owned(), |most| {
        format!("of at most {most} preemptions")
    });
    println!(
        "search {name}: {executions} executions, {:.1} s, {bound}",
        from.elapsed().as_secs_f64()
    );
}
