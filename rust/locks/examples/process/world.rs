// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

// A world for the threads of one process. (No inner doc comment: examples in the documentation include this file.)

use std::{
    sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    thread,
};

use handover_locks::{Word, World, WAIT_ARRAY_SLOTS};

/// A word: an atomic, whose waiters give up their CPU between two looks.
pub(crate) struct Cell(AtomicU32);

impl Cell {
    /// A word that holds `value`.
    pub(crate) const fn new(value: u32) -> Self {
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
            let value = self.load_acquire();
            if done(value) {
                return value;
            }
            thread::yield_now();
        }
    }
}

/// The process: one waiting array for all its locks.
pub(crate) struct Process([Cell; WAIT_ARRAY_SLOTS as usize]);

impl Process {
    /// An empty waiting array.
    pub(crate) const fn new() -> Self {
        Self([const { Cell::new(0) }; WAIT_ARRAY_SLOTS as usize])
    }
}

impl Default for Process {
    fn default() -> Self {
        Self::new()
    }
}

impl World for Process {
    type Word = Cell;

    fn slot(&self, index: u32) -> &Cell {
        &self.0[index as usize]
    }
}
