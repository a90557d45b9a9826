// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Hole 3: the end of the generations.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rlock::word::LAST_GENERATION;
use rlock::{Config, Lock, Owner, Slot};

use crate::alone::alone;
use crate::{add_until, await_adds};

fn near_the_end() {
    rlock::init(Config {
        first_generation: LAST_GENERATION - 4,
        operations: 64,
        ..Config::default()
    })
    .unwrap();
}

#[test]
fn a_record_that_is_used_up_is_retired() {
    alone("wrap::a_record_that_is_used_up_is_retired", || {
        near_the_end();
        let lock = Lock::new(Slot::new(0));
        let owner = Owner::register().unwrap();
        let mut seen = Vec::new();
        for turn in 0..32 {
            let mut token = owner.acquire(&lock).unwrap();
            token.add(|slot| slot, 1).unwrap();
            // No ownership comes twice.
            let now = format!("{token:?}");
            assert!(!seen.contains(&now), "turn {turn}: {now} again");
            seen.push(now);
            drop(token);
            owner.release_all();
        }
        assert_eq!(lock.load(), 32);
    });
}

#[test]
fn threads_that_come_to_the_end_lose_nothing() {
    alone("wrap::threads_that_come_to_the_end_lose_nothing", || {
        near_the_end();
        let lock = Lock::new(Slot::new(0));
        let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| add_until(&lock, &stop, &count));
            }
            await_adds(&lock, 64 * 16, Duration::from_millis(500));
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(lock.load(), count.load(Ordering::Relaxed));
        assert!(lock.load() > 64 * 16, "{} commits", lock.load());
    });
}
