// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What all threads of the process know of each other besides the locks.

use core::sync::atomic::AtomicU32;

/// The counters, a power of two.
const COUNTERS: usize = 1024;

static SLEEPERS: [AtomicU32; COUNTERS] = [const { AtomicU32::new(0) }; COUNTERS];

static BARRIER: AtomicU32 = AtomicU32::new(0);

/// The counter of those that sleep until the word at this address is as awaited.
#[inline(always)]
pub(crate) fn sleepers(word: *const AtomicU32) -> &'static AtomicU32 {
    // A word has four bytes. Neighbours in a lock, and locks in a table, lie apart.
    let hash = (word.addr() as u64 >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &SLEEPERS[(hash >> (64 - COUNTERS.trailing_zeros())) as usize]
}

/// What the kernel has answered, as a number of `barrier.rs`; first 0, that nobody has asked.
#[inline(always)]
pub(crate) fn barrier() -> &'static AtomicU32 {
    &BARRIER
}
