// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! More counters than there are slots.

use rlock::Counter;

use crate::alone::alone;

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
