// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

// A world for the threads of one process. (No inner doc comment: examples in the documentation include this file.)

use std::{
    sync::atomic::{
        AtomicU32,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
    thread,
};

use handover_locks::{Awaited, Node, Nodes, Pool, Word, World, WAIT_ARRAY_SLOTS};

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

    fn store_relaxed(&self, value: u32) {
        self.0.store(value, Relaxed);
    }

    fn store_release(&self, value: u32) {
        self.0.store(value, Release);
    }

    fn swap_acq_rel(&self, value: u32) -> u32 {
        self.0.swap(value, AcqRel)
    }

    fn fetch_add_relaxed(&self, value: u32) -> u32 {
        self.0.fetch_add(value, Relaxed)
    }

    fn fetch_add_acquire(&self, value: u32) -> u32 {
        self.0.fetch_add(value, Acquire)
    }

    fn fetch_add_release(&self, value: u32) -> u32 {
        self.0.fetch_add(value, Release)
    }

    fn inc_release(&self) {
        self.0.fetch_add(1, Release);
    }

    fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
        self.0.compare_exchange(old, new, Relaxed, Relaxed).is_ok()
    }

    fn cmpxchg_acquire(&self, old: u32, new: u32) -> bool {
        self.0.compare_exchange(old, new, Acquire, Relaxed).is_ok()
    }

    fn cmpxchg_release(&self, old: u32, new: u32) -> bool {
        self.0.compare_exchange(old, new, Release, Relaxed).is_ok()
    }

    fn wait_acquire(&self, awaited: Awaited) -> u32 {
        loop {
            let value = self.load_acquire();
            if awaited.holds(value) {
                return value;
            }
            thread::yield_now();
        }
    }
}

/// Nodes for as many threads that hold a queue lock or wait for one. More threads than these wait
/// without a node.
const NODES: usize = 32;

/// The process: one waiting array for all its locks, and nodes.
pub(crate) struct Process {
    slots: [Cell; WAIT_ARRAY_SLOTS as usize],
    nodes: Pool<Cell, NODES>,
}

impl Process {
    /// An empty waiting array, and nodes that no thread uses.
    pub(crate) const fn new() -> Self {
        Self {
            slots: [const { Cell::new(0) }; WAIT_ARRAY_SLOTS as usize],
            nodes: Pool::new(
                Cell::new(Pool::<Cell, NODES>::ALL),
                [const { Node::new(Cell::new(0), Cell::new(0)) }; NODES],
            ),
        }
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
        &self.slots[index as usize]
    }

    fn pause(&self) {
        thread::yield_now();
    }
}

/// A node's index is its number in the pool plus one: 0 is none.
impl Nodes for Process {
    fn take(&self) -> Option<u32> {
        Some(self.nodes.take()? + 1)
    }

    fn put(&self, node: u32) {
        self.nodes.put(node - 1);
    }

    fn node(&self, node: u32) -> &Node<Cell> {
        self.nodes.node(node - 1)
    }
}
