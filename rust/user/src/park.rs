// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Sleeping until a word is as awaited.
//!
//! A lock's word has no room for "somebody sleeps". A table beside has it: a counter for all words whose addresses have
//! the same hash. A collision costs a releasing operation a system call, nothing else.
//!
//! | who | first | then |
//! |---|---|---|
//! | who sleeps | counts itself: `fetch_add`, SeqCst | looks at the word: load, SeqCst |
//! | who releases | changes the word: a RMW, SeqCst | looks at the counter: load, SeqCst |
//!
//! All four accesses have one order. So the second ones cannot both miss the first ones. A releaser that sees no sleeper
//! comes before the sleeper's look, which sees the change. A sleeper that does not see it is counted, and woken. It may not
//! sleep yet then. The kernel puts it to sleep only while the word holds what the sleeper saw.

use core::sync::atomic::{
    AtomicU32,
    Ordering::{Relaxed, SeqCst},
};

use handover_locks::Awaited;

use crate::futex;

/// The counters, a power of two.
const COUNTERS: usize = 1024;

static SLEEPERS: [AtomicU32; COUNTERS] = [const { AtomicU32::new(0) }; COUNTERS];

/// The counter of the word at this address.
#[inline(always)]
fn sleepers(word: *const AtomicU32) -> &'static AtomicU32 {
    // A word has four bytes. Neighbours in a lock, and locks in a table, lie apart.
    let hash = (word.addr() as u64 >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &SLEEPERS[(hash >> (64 - COUNTERS.trailing_zeros())) as usize]
}

/// The bit of the sleepers that await `value`.
const fn bit(value: u32) -> u32 {
    1 << (value % u32::BITS)
}

/// Sleeps until the word is as `awaited`, and returns what it holds then.
#[cold]
pub(crate) fn sleep(word: &AtomicU32, awaited: Awaited) -> u32 {
    let bits = awaited.fixed(u32::BITS - 1).map_or(u32::MAX, bit);
    let sleepers = sleepers(word);
    sleepers.fetch_add(1, SeqCst);
    let value = loop {
        let value = word.load(SeqCst);
        if awaited.holds(value) {
            break value;
        }
        futex::wait(word, value, bits);
    };
    sleepers.fetch_sub(1, Relaxed);
    value
}

/// Wakes those that sleep until the word at this address holds `value`, or another value than it did.
#[inline(always)]
pub(crate) fn wake(word: *const AtomicU32, value: u32) {
    if sleepers(word).load(SeqCst) != 0 {
        wake_sleepers(word, value);
    }
}

#[cold]
fn wake_sleepers(word: *const AtomicU32, value: u32) {
    futex::wake(word, bit(value));
}
