// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The worlds in which loom checks the locks, under the C11 memory model.
//!
//! | world | waits by | finds | hides |
//! |---|---|---|---|
//! | [`spin`] | yielding between loads | every relaxed ordering on the way from one owner to the next | nothing, but shows a lost wake-up only as `exceeded maximum number of branches`, and late |
//! | [`block`] | parking until the word is written | a lost wake-up, as a deadlock, at once | a relaxed hand-over to a waiter that parked, since loom orders what follows an unpark after what precedes it |
//!
//! So every scenario runs in both. Both have a waiting array of two slots, so that a slot chosen
//! wrongly is another one. The world gives each lock its key in the array, and a search does not
//! depend on an address.

pub(crate) mod block;
mod data;
mod probe;
pub(crate) mod spin;

use std::sync::Mutex;

use handover_locks::{Node, Nodes, Word, World};

pub(crate) use self::data::Data;
pub(crate) use self::probe::{Order, Probe};

/// A word that a model makes.
pub(crate) trait Cell: Word + Send + Sync + 'static {
    /// A word that holds `value`.
    fn new(value: u32) -> Self;
}

/// How many slots a model's waiting array has: neighbours wait on different ones.
pub(crate) const SLOTS: usize = 2;

/// How many nodes a model has.
pub(crate) const NODES: usize = 4;

/// A model's world.
pub(crate) struct Model<C> {
    slots: [C; SLOTS],
    nodes: Vec<Node<C>>,
    /// The nodes that no thread uses. `std`'s, so that it orders nothing.
    free: Mutex<Vec<u32>>,
    /// How many there are for the threads.
    given: usize,
}

impl<C> Model<C> {
    /// A world with these slots, and with words that `word` makes of their values. What nodes hold is
    /// left over from another use.
    pub(crate) fn new(slots: [C; SLOTS], word: impl Fn(u32) -> C) -> Self {
        Self {
            slots,
            nodes: (0..NODES).map(|_| Node::new(word(1), word(1))).collect(),
            free: Mutex::new((1..=NODES as u32).collect()),
            given: NODES,
        }
    }

    /// The same with so many nodes.
    pub(crate) fn with_nodes(mut self, given: usize) -> Self {
        self.free.get_mut().unwrap().truncate(given);
        Self { given, ..self }
    }

    /// Whether every node is free, and there once.
    pub(crate) fn all_nodes_are_back(&self) -> bool {
        let mut free = self.free.lock().unwrap().clone();
        free.sort_unstable();
        free.into_iter().eq(1..=self.given as u32)
    }
}

impl<C: Word> World for Model<C> {
    type Word = C;

    fn slot(&self, index: u32) -> &C {
        &self.slots[index as usize % SLOTS]
    }

    fn key<L>(&self, _: &L) -> u32 {
        0
    }

    fn pause(&self) {
        loom::thread::yield_now();
    }
}

impl<C: Word> Nodes for Model<C> {
    fn take(&self) -> Option<u32> {
        // First in, first out: a node rests as long as it can.
        let mut free = self.free.lock().unwrap();
        (!free.is_empty()).then(|| free.remove(0))
    }

    fn put(&self, node: u32) {
        // An interrupt handler may use it from here on: its link is cleared then. The flag stays, for a
        // thread that takes the node would have to see that store before its own. `Pool` orders
        // the two, and this world orders nothing.
        let [next, _] = self.node(node).words();
        next.store_relaxed(0);
        self.free.lock().unwrap().push(node);
    }

    fn node(&self, node: u32) -> &Node<C> {
        &self.nodes[node as usize - 1]
    }
}
