// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The worlds in which loom checks the locks, under the C11 memory model.
//!
//! | world | waits by | finds | hides |
//! |---|---|---|---|
//! | [`spin`] | yielding between loads | every relaxed ordering on the way from one owner to the next | nothing, but shows a lost wake-up only as `exceeded maximum number of branches`, and late |
//! | [`block`] | parking until the word is written | a lost wake-up, as a deadlock, at once | a relaxed hand-over to a waiter that parked, since loom orders what follows an unpark after what precedes it |
//!
//! So every scenario runs in both. Both have a waiting array of
//! one slot: hashing becomes deterministic and every waiter collides. What an
//! index has to do with a ticket is for the unit tests (`tests/host`).

pub(crate) mod block;
mod data;
mod given;
pub(crate) mod spin;

pub(crate) use self::data::Data;
pub(crate) use self::given::Given;

use handover_locks::{Word, World};

/// A word that a model makes.
pub(crate) trait Cell: Word + Send + Sync + 'static {
    /// A word that holds `value`.
    fn new(value: u32) -> Self;
}

/// A world with a waiting array of one slot.
pub(crate) struct OneSlot<C>(C);

impl<C> OneSlot<C> {
    /// A world with this slot.
    pub(crate) fn new(slot: C) -> Self {
        Self(slot)
    }
}

impl<C: Word> World for OneSlot<C> {
    type Word = C;

    fn slot(&self, _: u32) -> &C {
        &self.0
    }
}
