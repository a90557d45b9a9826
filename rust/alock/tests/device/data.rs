//! What the lock is for, on the device of `table1`, where a word that CPUs and verbs modify
//! loses updates: none is lost under the lock.

use std::thread;

use alock::cluster::{Kind, Settings};

use crate::{cluster_on_one_device, seen, Member};

/// All threads of two nodes on one device add to both nodes' words under the lock; how many
/// additions are missing.
fn missing(kind: Kind) -> u64 {
    const EACH: u64 = 150;
    let settings = Settings {
        kind,
        locks: 1,
        threads: 2,
        ..Settings::default()
    };
    let mut members = cluster_on_one_device(2, &settings);
    thread::scope(|scope| {
        for (number, thread) in members
            .iter_mut()
            .flat_map(|it| &mut it.threads)
            .enumerate()
        {
            scope.spawn(move || {
                for i in 0..EACH {
                    // Half of them local, half remote; a different half first for each.
                    let mut guard = thread.lock((i + number as u64) % 2).unwrap();
                    let value = guard.load(0).unwrap();
                    guard.store(0, value + 1).unwrap();
                    guard.unlock().unwrap();
                }
            });
        }
    });
    let found: u64 = members
        .iter()
        .filter_map(|it: &Member| it.node.peek(0, 0))
        .sum();
    4 * EACH - found
}

#[test]
fn alock_on_one_device_loses_none() {
    assert_eq!(missing(Kind::ALock), 0);
}

/// The control: without a lock the same loses.
#[test]
fn no_lock_on_one_device_loses_updates() {
    seen("an update lost without a lock", || {
        missing(Kind::Busted) > 0
    });
}
