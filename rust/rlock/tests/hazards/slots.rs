// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Counters and their blocks: more counters than slots, and a thread that moves.

use rlock::Counter;
use rustix::thread::{sched_getaffinity, sched_setaffinity};

use crate::alone::alone;
use crate::bind;

/// A thread goes on with its block, wherever it runs: it makes none for the next CPU.
#[test]
fn a_thread_that_moves_keeps_its_block() {
    alone("slots::a_thread_that_moves_keeps_its_block", || {
        let counter = Counter::new();
        let all = sched_getaffinity(None).unwrap();
        for cpu in 0..all.count() as usize {
            bind(cpu);
            counter.add(1);
            sched_setaffinity(None, &all).unwrap();
        }
        assert_eq!(Counter::bytes(), 4096);
        assert_eq!(counter.sum(), u64::from(all.count()));
    });
}

/// Some 16,000 counters have slots, in 32 blocks of a page. Those that come later count as exactly.
#[test]
fn counters_without_a_slot_are_exact() {
    alone("slots::counters_without_a_slot_are_exact", || {
        const BLOCKS: usize = 32;
        let counters: Vec<Counter> = (0..16_100).map(|_| Counter::new()).collect();
        let add = || {
            for (counter, n) in counters.iter().zip(1..) {
                counter.add(n);
            }
        };
        add();
        // All blocks are in use, and a thread that runs alone has one of each.
        assert_eq!(Counter::bytes(), BLOCKS * 4096);
        std::thread::scope(|scope| scope.spawn(add).join()).unwrap();
        for (counter, n) in counters.iter().zip(1..) {
            assert_eq!(counter.sum(), 2 * n);
        }
    });
}
