// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What `examples/two-nodes.rs` shows a reader is so.

#[path = "../examples/two-nodes.rs"]
#[expect(dead_code, reason = "its main is the example's")]
mod two_nodes;

use two_nodes::{run, table};

/// A thread of the lock's own node gives its card nothing to do.
#[test]
fn a_local_thread_needs_no_verb() {
    let it = run(100, 0);
    assert_eq!((it.counter, it.verbs), (100, 0));
    assert_eq!((it.local.len(), it.remote.len()), (100, 0));
}

/// Three verbs to acquire and one to release, as `alock::lock` says; two for the counter.
#[test]
fn a_remote_thread_alone_needs_six_verbs_a_lap() {
    let it = run(0, 100);
    assert_eq!((it.counter, it.verbs), (100, 600));
    // Two round trips, since a write and a read share one; a read takes 2 us.
    let it = it.remote.iter().max();
    assert!(it.is_some_and(|it| (3_500..6_000).contains(it)), "{it:?}");
}

/// No update is lost between the two, and the local thread waits for the remote owner.
#[test]
fn both_count_exactly() {
    let (alone, both) = (run(100, 0), run(100, 100));
    assert_eq!(both.counter, 200);
    assert!(both.local.iter().sum::<u64>() > alone.local.iter().sum());
    assert!(both.verbs >= 600);
}

/// The repository's README shows what the example prints.
#[test]
fn the_readme_shows_the_output() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = std::fs::read_to_string(readme).expect("README.md is there");
    assert!(
        readme.contains(&table()),
        "the example prints:\n{}",
        table()
    );
}
