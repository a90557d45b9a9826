// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A word with its cache lines to itself.

use super::{Awaited, Word};

/// A word alone on its two cache lines, which hardware fetches as a pair.
///
/// A [`Ticket`](super::Ticket) or [`Twa`](super::Twa) of such words has `ticket` and `grant` apart.
/// A thread that comes then takes the line of `ticket` alone, and disturbs no thread that polls
/// `grant`. On one line each arrival takes the line from all that poll.
///
/// | layout | bytes | lines that an uncontended pair touches |
/// |---|---|---|
/// | `Ticket<C>` | 8 | 1 |
/// | `Ticket<Apart<C>>` | 256 | 2 |
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::{Apart, RawLock, Twa};
///
/// let world = Process::new();
/// let word = || Apart::new(Cell::new(0));
/// let lock: Twa<Apart<Cell>> = Twa::new(word(), word());
/// let ticket = lock.lock(&world);
/// lock.unlock(&world, ticket);
/// assert_eq!(size_of_val(&lock), 256);
/// ```
#[repr(align(128))]
pub struct Apart<C>(C);

impl<C> Apart<C> {
    /// This word, alone.
    pub const fn new(word: C) -> Self {
        Self(word)
    }
}

impl<C: Word> Word for Apart<C> {
    #[inline(always)]
    fn load_relaxed(&self) -> u32 {
        self.0.load_relaxed()
    }

    #[inline(always)]
    fn load_acquire(&self) -> u32 {
        self.0.load_acquire()
    }

    #[inline(always)]
    fn store_relaxed(&self, value: u32) {
        self.0.store_relaxed(value);
    }

    #[inline(always)]
    fn store_release(&self, value: u32) {
        self.0.store_release(value);
    }

    #[inline(always)]
    fn swap_acq_rel(&self, value: u32) -> u32 {
        self.0.swap_acq_rel(value)
    }

    #[inline(always)]
    fn fetch_add_relaxed(&self, value: u32) -> u32 {
        self.0.fetch_add_relaxed(value)
    }

    #[inline(always)]
    fn fetch_add_acquire(&self, value: u32) -> u32 {
        self.0.fetch_add_acquire(value)
    }

    #[inline(always)]
    fn fetch_add_release(&self, value: u32) -> u32 {
        self.0.fetch_add_release(value)
    }

    #[inline(always)]
    fn inc_release(&self) {
        self.0.inc_release();
    }

    #[inline(always)]
    fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
        self.0.cmpxchg_relaxed(old, new)
    }

    #[inline(always)]
    fn cmpxchg_acquire(&self, old: u32, new: u32) -> bool {
        self.0.cmpxchg_acquire(old, new)
    }

    #[inline(always)]
    fn cmpxchg_release(&self, old: u32, new: u32) -> bool {
        self.0.cmpxchg_release(old, new)
    }

    #[inline(always)]
    fn swap_acq_rel_part(&self, mask: u32, value: u32) -> u32 {
        self.0.swap_acq_rel_part(mask, value)
    }

    #[inline(always)]
    fn store_relaxed_part(&self, old: u32, new: u32) {
        self.0.store_relaxed_part(old, new);
    }

    #[inline(always)]
    fn store_release_part(&self, old: u32, new: u32) {
        self.0.store_release_part(old, new);
    }

    #[inline(always)]
    fn wait_acquire(&self, awaited: Awaited) -> u32 {
        self.0.wait_acquire(awaited)
    }
}
