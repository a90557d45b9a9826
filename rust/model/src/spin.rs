// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0

//! The world that spins.

use handover_locks::Word;
use loom::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

/// A word whose waiters load again and again, and yield in between.
///
/// A yield orders nothing, so a waiter synchronises with the owner before it by
/// the lock's own orderings or not at all. It only promises progress: loom does
/// not show a thread the same stale value after a yield as before it.
///
/// A waiter that nobody wakes spins until loom gives up.
pub struct Cell(AtomicU32);

impl super::Cell for Cell {
    fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }
}

impl Word for Cell {
    fn load_relaxed(&self) -> u32 {
        self.0.load(Relaxed)
    }

    fn load_acquire(&self) -> u32 {
        self.0.load(Acquire)
    }

    fn store_release(&self, value: u32) {
        self.0.store(value, Release);
    }

    fn fetch_inc_relaxed(&self) -> u32 {
        self.0.fetch_add(1, Relaxed)
    }

    fn inc_release(&self) {
        self.0.fetch_add(1, Release);
    }

    fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
        self.0.compare_exchange(old, new, Relaxed, Relaxed).is_ok()
    }

    fn wait_acquire(&self, mut done: impl FnMut(u32) -> bool) -> u32 {
        loop {
            let value = self.0.load(Acquire);
            if done(value) {
                return value;
            }
            loom::hint::spin_loop();
        }
    }
}
