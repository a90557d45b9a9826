// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A word of which the model knows more.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use handover_locks::{Awaited, Word};
use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The order in which threads came to a lock: what they wrote to its tail.
pub(crate) type Order = Arc<Mutex<VecDeque<u32>>>;

/// A word that several threads may hold copies of.
///
/// What is beside the cell is `std`'s. loom does not see it, so it orders nothing. loom runs one
/// thread at a time. None here waits for another between an access and what is noted of it.
pub(crate) struct Probe<C> {
    cell: Arc<C>,
    /// The ticket that a thread draws by adding to this word, in place of the cell's.
    ///
    /// Three threads that draw their tickets are too many for a complete search. With given tickets
    /// only waiting and handing over are searched.
    given: Option<u32>,
    /// Whether the word is there: a lock's owner may have freed it.
    is_there: Option<Arc<AtomicBool>>,
    /// Where tokens are noted that come into this word, which is a tail.
    order: Option<Order>,
}

impl<C> Probe<C> {
    /// A word that is there.
    pub(crate) fn new(cell: Arc<C>) -> Self {
        Self {
            cell,
            given: None,
            is_there: None,
            order: None,
        }
    }

    /// A word that gives out `ticket`, and nothing else.
    pub(crate) fn given(self, ticket: u32) -> Self {
        Self {
            given: Some(ticket),
            ..self
        }
    }

    /// A word that is there as long as `is_there`.
    pub(crate) fn mortal(self, is_there: &Arc<AtomicBool>) -> Self {
        Self {
            is_there: Some(is_there.clone()),
            ..self
        }
    }

    /// A word that notes in `order` what comes into it.
    pub(crate) fn noting(self, order: &Order) -> Self {
        Self {
            order: Some(order.clone()),
            ..self
        }
    }

    /// The cell, for everything but to draw a given ticket.
    fn cell(&self) -> &C {
        if let Some(is_there) = &self.is_there {
            // Relaxed: it orders nothing.
            assert!(is_there.load(Relaxed), "a lock is used after it was freed");
        }
        assert!(self.given.is_none(), "a given ticket can only be drawn");
        &self.cell
    }

    fn came(&self, token: u32) {
        if let Some(order) = &self.order {
            order.lock().unwrap().push_back(token);
        }
    }
}

impl<C: Word> Word for Probe<C> {
    fn load_relaxed(&self) -> u32 {
        self.cell().load_relaxed()
    }

    fn load_acquire(&self) -> u32 {
        self.cell().load_acquire()
    }

    fn store_relaxed(&self, value: u32) {
        self.cell().store_relaxed(value);
    }

    fn store_release(&self, value: u32) {
        self.cell().store_release(value);
    }

    fn swap_acq_rel(&self, value: u32) -> u32 {
        let before = self.cell().swap_acq_rel(value);
        self.came(value);
        before
    }

    fn fetch_add_relaxed(&self, value: u32) -> u32 {
        match self.given {
            Some(ticket) => ticket,
            None => self.cell().fetch_add_relaxed(value),
        }
    }

    fn fetch_add_acquire(&self, value: u32) -> u32 {
        self.cell().fetch_add_acquire(value)
    }

    fn fetch_add_release(&self, value: u32) -> u32 {
        self.cell().fetch_add_release(value)
    }

    fn inc_release(&self) {
        self.cell().inc_release();
    }

    fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
        self.cell().cmpxchg_relaxed(old, new)
    }

    fn cmpxchg_acquire(&self, old: u32, new: u32) -> bool {
        let is_written = self.cell().cmpxchg_acquire(old, new);
        if is_written {
            self.came(new);
        }
        is_written
    }

    fn cmpxchg_release(&self, old: u32, new: u32) -> bool {
        self.cell().cmpxchg_release(old, new)
    }

    fn wait_acquire(&self, awaited: Awaited) -> u32 {
        self.cell().wait_acquire(awaited)
    }
}
