// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! TWA: a ticket lock augmented with a waiting array.

use super::{Awaited, Make, RawLock, Ticket, Word, World};

/// The slots of the waiting array, a power of two (the paper's `ArraySize`).
pub const WAIT_ARRAY_SLOTS: u32 = 4096;

/// The slot in which the holder of `ticket` waits, long term, of the lock `key`.
///
/// 127 is odd, so tickets of one lock reuse a slot only 4096 apart. That holds across the wrap of 16-bit
/// tickets and of 32-bit ones. Neighbours lie in different 128-byte sectors. The key keeps locks with
/// equal tickets apart.
#[inline(always)]
pub(super) fn slot_index(key: u32, ticket: u32) -> u32 {
    (ticket.wrapping_mul(127) ^ key) & (WAIT_ARRAY_SLOTS - 1)
}

/// A ticket lock with a waiting array, which all locks of a world share. The next
/// `LONG_TERM_THRESHOLD` waiters wait on `grant`, all others on slots of the array.
///
/// The words and their states are those of [`Ticket`].
///
/// # Promises
///
/// Exclusion and FIFO admission, as [`Ticket`]. A hash collision costs a waiter
/// a look at `grant`, nothing else.
///
/// # Cost
///
/// Uncontended: one locked read-modify-write to acquire. One plain store and
/// one locked increment to release.
///
/// A release invalidates the line of `grant` in the caches of at most `LONG_TERM_THRESHOLD`
/// waiters. To them come the waiters that have read it since the last release. The latter have
/// just arrived, or have just been notified. After the hand-over it invalidates one slot.
///
/// # Source
///
/// Dice and Kogan, "TWA: Ticket Locks Augmented with a Waiting Array",
/// Listing 1.1, lines 20 to 71. The paper's slots have 64 bits, these have 32.
/// A waiter misses a notification if exactly 2^32 of them hit its slot between
/// two looks of its own.
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::{RawLock, Twa};
///
/// // All locks of a world share its waiting array.
/// let world = Process::new();
/// let near = Twa::<Cell>::new(Cell::new(0), Cell::new(0));
/// let long_term = Twa::<Cell, 0>::new(Cell::new(0), Cell::new(0));
///
/// let (a, b) = (near.lock(&world), long_term.lock(&world));
/// assert!(near.try_lock(&world).is_none());
/// near.unlock(&world, a);
/// long_term.unlock(&world, b);
/// ```
#[repr(transparent)]
pub struct Twa<C, const LONG_TERM_THRESHOLD: u32 = 1> {
    ticket: Ticket<C>,
}

impl<C, const LONG_TERM_THRESHOLD: u32> Twa<C, LONG_TERM_THRESHOLD> {
    /// A lock over two words that hold the same value: free. See
    /// [`Ticket::new`].
    pub const fn new(ticket: C, grant: C) -> Self {
        Self {
            ticket: Ticket::new(ticket, grant),
        }
    }

    /// The slot in which the holder of `ticket` waits, long term.
    #[inline(always)]
    fn slot<'w, W: World>(&self, world: &'w W, ticket: u32) -> &'w W::Word {
        world.slot(slot_index(world.key(self), ticket))
    }
}

impl<C: Word, const LONG_TERM_THRESHOLD: u32> Twa<C, LONG_TERM_THRESHOLD> {
    /// Lines 43 to 61: waits, long term while `distance` tickets are served
    /// first, then on `grant`.
    #[cold]
    fn wait<W: World>(&self, world: &W, ticket: u32, distance: u32) {
        world.while_contended(self, || {
            if distance > LONG_TERM_THRESHOLD {
                self.wait_long_term(self.slot(world, ticket), ticket);
            }
            self.ticket.wait_for_grant(ticket);
        });
    }

    /// Lines 45 to 53: waits until `ticket` is near.
    ///
    /// Every load of the slot is an acquire, and pairs with the notify's release in `unlock`. A
    /// waiter that sees a notification sees the grant that was stored before it.
    ///
    /// The slot is read before `grant` is read again. A grant that this load misses comes with a
    /// notification that the wait below cannot miss. `grant` itself needs no ordering here: the
    /// waiter acquires in `wait_for_grant`.
    #[inline(always)]
    fn wait_long_term(&self, slot: &impl Word, ticket: u32) {
        loop {
            let seen = slot.load_acquire();
            if self.ticket.distance_relaxed(ticket) <= LONG_TERM_THRESHOLD {
                return;
            }
            slot.wait_acquire(Awaited::not(seen));
        }
    }
}

impl<C: Word, const LONG_TERM_THRESHOLD: u32> Twa<C, LONG_TERM_THRESHOLD> {
    /// Whether the lock has a waiter at some moment during the call, or changes hands during it.
    #[inline(always)]
    pub fn is_contended(&self) -> bool {
        self.ticket.is_contended()
    }
}

impl<C, const LONG_TERM_THRESHOLD: u32> Make<C> for Twa<C, LONG_TERM_THRESHOLD> {
    fn make(first: u32, mut word: impl FnMut(u32) -> C) -> Self {
        Self::new(word(first), word(first))
    }
}

impl<W: World, C: Word, const LONG_TERM_THRESHOLD: u32> RawLock<W> for Twa<C, LONG_TERM_THRESHOLD> {
    const EXCLUDES: bool = true;
    const FIFO: bool = true;
    const TICKET_BITS: u32 = 32;

    #[inline(always)]
    fn lock(&self, world: &W) -> u32 {
        let ticket = self.ticket.draw();
        let distance = self.ticket.distance_acquire(ticket);
        if distance != 0 {
            self.wait(world, ticket, distance);
        }
        ticket
    }

    #[inline(always)]
    fn try_lock(&self, _: &W) -> Option<u32> {
        self.ticket.draw_if_free()
    }

    #[inline(always)]
    fn unlock(&self, world: &W, ticket: u32) {
        let next = self.ticket.hand_over(ticket);
        // The handover is done. Now the waiter `LONG_TERM_THRESHOLD` after
        // the next owner may come near. Release, pairs with the acquires in
        // `wait_long_term`: the grant stored above is seen with it. A RMW,
        // since other locks' notifications hit the slot too.
        self.slot(world, next.wrapping_add(LONG_TERM_THRESHOLD))
            .inc_release();
    }

    #[inline(always)]
    fn is_locked(&self) -> bool {
        self.ticket.queue_length() != 0
    }
}
