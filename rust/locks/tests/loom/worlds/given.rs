// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Tickets that are given instead of drawn.

use std::sync::Arc;

use handover_locks::Word;

/// A word of a lock that several threads hold copies of, each with its own
/// ticket.
///
/// Three threads that draw their tickets are too many for a complete search.
/// Here each is told its ticket, so that only waiting and handing over are
/// searched. Each thread has its own lock value, made of a `Ticket` and of
/// `Shared` words.
pub(crate) enum Given<C> {
    /// The cell that all the threads share.
    Shared(Arc<C>),
    /// The ticket that a thread draws by incrementing this word.
    Ticket(u32),
}

impl<C> Given<C> {
    /// The cell, for everything but to draw a ticket.
    fn cell(&self) -> &C {
        match self {
            Self::Shared(cell) => cell,
            Self::Ticket(_) => panic!("a given ticket can only be drawn"),
        }
    }
}

impl<C: Word> Word for Given<C> {
    fn load_relaxed(&self) -> u32 {
        self.cell().load_relaxed()
    }

    fn load_acquire(&self) -> u32 {
        self.cell().load_acquire()
    }

    fn store_release(&self, value: u32) {
        self.cell().store_release(value);
    }

    fn fetch_inc_relaxed(&self) -> u32 {
        match self {
            Self::Shared(cell) => cell.fetch_inc_relaxed(),
            Self::Ticket(ticket) => *ticket,
        }
    }

    fn inc_release(&self) {
        self.cell().inc_release();
    }

    fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
        self.cell().cmpxchg_relaxed(old, new)
    }

    fn wait_acquire(&self, done: impl FnMut(u32) -> bool) -> u32 {
        self.cell().wait_acquire(done)
    }
}
