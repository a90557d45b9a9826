// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What the lock is for, on the device of `table1`. There a word that CPUs and verbs modify
//! loses updates. None is lost under the lock.

use std::thread;

use alock::cluster::{Kind, Settings};

use crate::{cluster_on_one_device, seen, Member};

/// Additions of each of four threads: an attempt.
const EACH: u64 = 100;

/// All threads of two nodes on one device add to both nodes' words under the lock. Returns
/// how many additions are missing.
fn missing(kind: Kind) -> u64 {
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

/// The control: without a lock the same loses. After how many attempts.
fn attempts_without_a_lock() -> u32 {
    let mut lost = 0;
    let attempts = seen("an update lost without a lock", || {
        lost = missing(Kind::Busted);
        lost > 0
    });
    println!(
        "# of {} additions without a lock {lost} were lost",
        4 * EACH
    );
    attempts
}

/// No addition is missing in ten times as many attempts as show a loss without a lock. Both kinds
/// run in one process: how many show a loss depends on what else the machine does.
#[test]
fn alock_on_one_device_loses_none() {
    let attempts = 10 * attempts_without_a_lock();
    for attempt in 0..attempts {
        assert_eq!(missing(Kind::ALock), 0, "attempt {attempt}");
    }
    let additions = u64::from(attempts) * 4 * EACH;
    println!("# of {additions} additions under ALock none was lost");
}

#[test]
fn no_lock_on_one_device_loses_updates() {
    attempts_without_a_lock();
}
