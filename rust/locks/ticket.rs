// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The classic ticket lock.

use super::{Awaited, Make, RawLock, Word, World};

/// The words of a ticket lock, and the steps it shares with TWA.
///
/// | `ticket - grant` | state |
/// |---|---|
/// | 0 | free |
/// | 1 | owned |
/// | n + 1 | owned, n wait |
///
/// Both words wrap. Only their difference counts. It is at most the number of
/// threads that want the lock at once. A reader that loads one word after the
/// other may see a larger difference while the lock changes hands.
///
/// # Promises
///
/// Exclusion, and FIFO admission: the earlier ticket is served earlier. No thread bypasses a
/// waiter.
///
/// # Cost
///
/// Uncontended: one locked read-modify-write to acquire, one plain store to release. Waiters spin
/// globally: every release invalidates the line in the cache of each.
///
/// # Source
///
/// Dice and Kogan, "TWA: Ticket Locks Augmented with a Waiting Array",
/// Listing 1.1, lines 3 to 16.
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::{RawLock, Ticket};
///
/// let world = Process::new();
/// let lock = Ticket::new(Cell::new(0), Cell::new(0));
///
/// let first = lock.lock(&world);
/// assert!(lock.try_lock(&world).is_none());
/// lock.unlock(&world, first);
///
/// // The next ticket is served next.
/// assert_eq!(lock.try_lock(&world), Some(first + 1));
/// ```
#[repr(C)]
pub struct Ticket<C> {
    /// The next ticket to be given out.
    ticket: C,
    /// The ticket that is being served.
    grant: C,
}

impl<C> Ticket<C> {
    /// A lock over two words that hold the same value: free.
    ///
    /// Takes words, not numbers. A world whose word has a const constructor can then have locks
    /// in statics. A model checker's word has none. Any first value will do; tests start near the
    /// wrap.
    pub const fn new(ticket: C, grant: C) -> Self {
        Self { ticket, grant }
    }
}

impl<C: Word> Ticket<C> {
    /// Takes the next ticket. Relaxed: ticket RMWs pair with nothing. The acquire is on the load
    /// of `grant`.
    #[inline(always)]
    pub(super) fn draw(&self) -> u32 {
        self.ticket.fetch_add_relaxed(1)
    }

    /// How many tickets are to be served before `ticket`.
    ///
    /// Acquire, pairs with the release in [`Ticket::hand_over`]. On zero the caller owns the lock
    /// and sees what the last owner did.
    #[inline(always)]
    pub(super) fn distance_acquire(&self, ticket: u32) -> u32 {
        ticket.wrapping_sub(self.grant.load_acquire())
    }

    /// The same without an ordering, for a waiter that will look again.
    #[inline(always)]
    pub(super) fn distance_relaxed(&self, ticket: u32) -> u32 {
        ticket.wrapping_sub(self.grant.load_relaxed())
    }

    #[cold]
    fn wait<W: World>(&self, world: &W, ticket: u32) {
        world.while_contended(self, || self.wait_for_grant(ticket));
    }

    /// Short-term waiting: on `grant`.
    ///
    /// Acquire, pairs with the release in [`Ticket::hand_over`].
    #[inline(always)]
    pub(super) fn wait_for_grant(&self, ticket: u32) {
        self.grant.wait_acquire(Awaited::is(ticket));
    }

    /// Serves the next ticket and returns it. Only the owner writes `grant`, so
    /// this is no RMW, and the owner knows its value.
    ///
    /// Release, pairs with the acquires in [`Ticket::distance_acquire`],
    /// [`Ticket::wait_for_grant`], [`Ticket::draw_if_free`] and
    /// [`Ticket::queue_length`].
    #[inline(always)]
    pub(super) fn hand_over(&self, ticket: u32) -> u32 {
        let next = ticket.wrapping_add(1);
        self.grant.store_release(next);
        next
    }

    /// Takes the next ticket if it would be served at once.
    ///
    /// Acquire on the load of `grant`, pairs with the release in [`Ticket::hand_over`]. `ticket`
    /// is never behind `grant`. If `ticket` equals the value read before, `grant` has not moved
    /// since. The lock is then free at the moment of the `cmpxchg`.
    ///
    /// A multiple of 2^32 acquisitions between the load and the `cmpxchg` would deceive it. At 10 ns
    /// an acquisition the thread would have to stall for 43 s there. The count would have to be
    /// exact. A kernel has preemption off there. A thread of a process may stall as long; one count in
    /// 2^32 then deceives it. In [`OneWordTwa`](super::OneWordTwa), which compares ticket and grant in
    /// one step, nothing aliases.
    #[inline(always)]
    pub(super) fn draw_if_free(&self) -> Option<u32> {
        let grant = self.grant.load_acquire();
        // A look first: a failing cmpxchg would take the line from the owner.
        if self.ticket.load_relaxed() != grant {
            return None;
        }
        self.ticket
            .cmpxchg_relaxed(grant, grant.wrapping_add(1))
            .then_some(grant)
    }

    /// The number of the owner and the waiters, or zero.
    ///
    /// `grant` is loaded first. Acquire, pairs with the release in [`Ticket::hand_over`]. A
    /// ticket that was handed over was given out before, so the difference cannot be negative.
    #[inline(always)]
    pub(super) fn queue_length(&self) -> u32 {
        let grant = self.grant.load_acquire();
        self.ticket.load_relaxed().wrapping_sub(grant)
    }

    /// Whether the lock has a waiter at some moment during the call, or changes hands during it.
    #[inline(always)]
    pub fn is_contended(&self) -> bool {
        self.queue_length() > 1
    }
}

impl<C> Make<C> for Ticket<C> {
    fn make(first: u32, mut word: impl FnMut(u32) -> C) -> Self {
        Self::new(word(first), word(first))
    }
}

impl<W: World, C: Word> RawLock<W> for Ticket<C> {
    const EXCLUDES: bool = true;
    const FIFO: bool = true;
    const TICKET_BITS: u32 = 32;

    #[inline(always)]
    fn lock(&self, world: &W) -> u32 {
        let ticket = self.draw();
        if self.distance_acquire(ticket) != 0 {
            self.wait(world, ticket);
        }
        ticket
    }

    #[inline(always)]
    fn try_lock(&self, _: &W) -> Option<u32> {
        self.draw_if_free()
    }

    #[inline(always)]
    fn unlock(&self, _: &W, ticket: u32) {
        self.hand_over(ticket);
    }

    #[inline(always)]
    fn is_locked(&self) -> bool {
        self.queue_length() != 0
    }
}
