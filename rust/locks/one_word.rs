// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! TWA in one word.

use super::{twa::slot_index, Awaited, Make, RawLock, Word, World};

/// A ticket lock with a waiting array, in four bytes. The high half has the next ticket, the low half
/// the grant.
///
/// | `ticket - grant`, 16 bits | state |
/// |---|---|
/// | 0 | free |
/// | 1 | owned |
/// | n + 1 | owned, n wait |
///
/// # Promises
///
/// Exclusion and FIFO admission, as [`Twa`](super::Twa). An owner and 65,534 waiters have room. With
/// one thread more, the next arrival would find the lock free. Where the world does not bound its threads
/// ([`World::MOST_CONTENDERS`]), the thread that fills the last place ends the program. Until
/// then the next arrival finds the lock free.
///
/// # Cost
///
/// Uncontended: two locked read-modify-writes of one line, and no slot. `unlock` sees in what its
/// RMW returns whether a thread waits long term. Only then it touches the array.
///
/// Under contention each arrival's RMW hits the line that the near waiters poll.
///
/// # Source
///
/// Dice and Kogan, "TWA: Ticket Locks Augmented with a Waiting Array", Listing 1.1. The one word
/// is ours. In it `unlock` skips the notification without the fence that two words need.
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::{OneWordTwa, RawLock};
///
/// let world = Process::new();
/// let lock: OneWordTwa<Cell> = OneWordTwa::new(Cell::new(0));
/// let ticket = lock.lock(&world);
/// assert!(lock.try_lock(&world).is_none());
/// lock.unlock(&world, ticket);
/// assert_eq!(size_of_val(&lock), 4);
/// ```
#[repr(transparent)]
pub struct OneWordTwa<C, const LONG_TERM_THRESHOLD: u32 = 1> {
    word: C,
}

/// One ticket, in the word.
const TICKET: u32 = 1 << 16;
/// The grant's bits.
const GRANT: u32 = TICKET - 1;
/// The tickets, and so the places for threads, less the one that a free lock needs.
const PLACES: u32 = GRANT;

/// The next ticket of a word.
#[inline(always)]
const fn ticket_of(word: u32) -> u32 {
    word >> 16
}

/// How many tickets are to be served before `ticket`, of a word whose grant is `grant`'s low half.
#[inline(always)]
const fn distance(ticket: u32, grant: u32) -> u32 {
    ticket.wrapping_sub(grant) & GRANT
}

impl<C, const LONG_TERM_THRESHOLD: u32> OneWordTwa<C, LONG_TERM_THRESHOLD> {
    /// A lock over a word whose halves are the same: free. See [`Ticket::new`](super::Ticket::new).
    pub const fn new(word: C) -> Self {
        Self { word }
    }

    /// The slot in which the holder of `ticket` waits, long term.
    #[inline(always)]
    fn slot<'w, W: World>(&self, world: &'w W, ticket: u32) -> &'w W::Word {
        world.slot(slot_index(world.key(self), ticket & GRANT))
    }
}

impl<C: Word, const LONG_TERM_THRESHOLD: u32> OneWordTwa<C, LONG_TERM_THRESHOLD> {
    /// Waits, long term while `ahead` tickets are served first, then on the word.
    #[cold]
    fn wait<W: World>(&self, world: &W, ticket: u32, ahead: u32) {
        if W::MOST_CONTENDERS > PLACES && ahead >= PLACES {
            world.overcrowded();
        }
        world.while_contended(self, || {
            if ahead > LONG_TERM_THRESHOLD {
                self.wait_long_term(self.slot(world, ticket), ticket);
            }
            // Acquire, pairs with the release in `unlock`.
            self.word.wait_acquire(Awaited::bits(GRANT, ticket));
        });
    }

    /// Waits until `ticket` is near, as [`Twa`](super::Twa) does.
    ///
    /// Every load of the slot is an acquire, and pairs with the notify's release in `unlock`. The
    /// slot is read before the word is read again.
    #[inline(always)]
    fn wait_long_term(&self, slot: &impl Word, ticket: u32) {
        loop {
            let seen = slot.load_acquire();
            if distance(ticket, self.word.load_relaxed()) <= LONG_TERM_THRESHOLD {
                return;
            }
            slot.wait_acquire(Awaited::not(seen));
        }
    }

    /// The number of the owner and the waiters, or zero.
    #[inline(always)]
    fn queue_length(&self) -> u32 {
        let word = self.word.load_relaxed();
        distance(ticket_of(word), word)
    }

    /// Whether the lock has a waiter at some moment during the call.
    #[inline(always)]
    pub fn is_contended(&self) -> bool {
        self.queue_length() > 1
    }
}

impl<C, const LONG_TERM_THRESHOLD: u32> Make<C> for OneWordTwa<C, LONG_TERM_THRESHOLD> {
    fn make(first: u32, mut word: impl FnMut(u32) -> C) -> Self {
        let first = first & GRANT;
        Self::new(word((first << 16) | first))
    }
}

impl<W: World, C: Word, const LONG_TERM_THRESHOLD: u32> RawLock<W>
    for OneWordTwa<C, LONG_TERM_THRESHOLD>
{
    const EXCLUDES: bool = true;
    const FIFO: bool = true;
    const TICKET_BITS: u32 = 16;

    /// One RMW draws the ticket and reads the grant. Acquire, pairs with the release in `unlock`:
    /// on distance zero the caller owns the lock.
    #[inline(always)]
    fn lock(&self, world: &W) -> u32 {
        let word = self.word.fetch_add_acquire(TICKET);
        let ticket = ticket_of(word);
        let ahead = distance(ticket, word);
        if ahead != 0 {
            self.wait(world, ticket, ahead);
        }
        ticket
    }

    /// Acquire, pairs with the release in `unlock`. Both halves are compared in one step. If they are
    /// the same again after any number of acquisitions, the lock is free again: nothing aliases.
    #[inline(always)]
    fn try_lock(&self, _: &W) -> Option<u32> {
        // A look first: a failing cmpxchg would take the line from the owner.
        let word = self.word.load_relaxed();
        let ticket = ticket_of(word);
        if distance(ticket, word) != 0 {
            return None;
        }
        self.word
            .cmpxchg_acquire(word, word.wrapping_add(TICKET))
            .then_some(ticket)
    }

    /// The RMW serves the next ticket, and returns the ticket that was next to be drawn at that
    /// moment. A thread that draws later sees the new grant in the same word.
    ///
    /// Release, pairs with the acquires in `lock`, `try_lock` and `wait`.
    #[inline(always)]
    fn unlock(&self, world: &W, ticket: u32) {
        // At the grant's wrap the carry goes into the ticket, and the step takes it out again.
        let step = if ticket == GRANT {
            1u32.wrapping_sub(TICKET)
        } else {
            1
        };
        let word = self.word.fetch_add_release(step);
        // Of the owner and the waiters the first to be far was `LONG_TERM_THRESHOLD` + 1 behind
        // the owner. It is near now.
        if distance(ticket_of(word), ticket) > LONG_TERM_THRESHOLD.saturating_add(1) {
            // Release, pairs with the acquires in `wait_long_term`: the grant is seen with it.
            self.slot(world, ticket.wrapping_add(1 + LONG_TERM_THRESHOLD))
                .inc_release();
        }
    }

    #[inline(always)]
    fn is_locked(&self) -> bool {
        self.queue_length() != 0
    }
}
