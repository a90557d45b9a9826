// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The world that spins.

use loom::sync::atomic::AtomicU32;

/// A word whose waiters load again and again, and yield in between.
///
/// A yield orders nothing. So a waiter synchronises with the owner before it by
/// the lock's own orderings or not at all. It only promises progress: loom does
/// not show a thread the same stale value after a yield as before it.
///
/// A waiter that no thread wakes spins until loom gives up.
pub(crate) struct Cell(AtomicU32);

impl super::Cell for Cell {
    fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }
}

word_by_atomics!(Cell, loom::hint::spin_loop);
