// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The lock that is not fair.

use super::{Awaited, Make, RawLock, Word, World};

/// A test-and-test-and-set lock with back-off: the control of every comparison, as it is not FIFO.
///
/// | the word | state |
/// |---|---|
/// | 0 | free |
/// | 1 | owned |
///
/// # Promises
///
/// Exclusion. No order: a thread may be passed by any number of others.
///
/// # Cost
///
/// Uncontended: one locked read-modify-write to acquire, one plain store to release. At a release
/// all that poll the word try to take it. Each that fails pauses twice as long as before, at most
/// 1,024 times the world's pause.
///
/// # Source
///
/// Anderson, "The Performance of Spin Lock Alternatives for Shared-Memory Multiprocessors", 1990.
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::{RawLock, Ttas};
///
/// let world = Process::new();
/// let lock = Ttas::new(Cell::new(0));
/// let token = lock.lock(&world);
/// assert!(lock.try_lock(&world).is_none());
/// lock.unlock(&world, token);
/// ```
#[repr(transparent)]
pub struct Ttas<C> {
    word: C,
}

const FREE: u32 = 0;
const OWNED: u32 = 1;
/// The longest back-off, in pauses.
const MOST_PAUSES: u32 = 1024;

impl<C> Ttas<C> {
    /// A lock over a word that holds 0: free.
    pub const fn new(word: C) -> Self {
        Self { word }
    }
}

impl<C: Word> Ttas<C> {
    /// Takes the lock if it is free. Acquire, pairs with the release in `unlock`.
    ///
    /// A cmpxchg and no swap: loom does not know that a swap comes right behind what it reads. It would
    /// take an owner's later store for an earlier one.
    #[inline(always)]
    fn take(&self) -> bool {
        self.word.load_relaxed() == FREE && self.word.cmpxchg_acquire(FREE, OWNED)
    }

    #[cold]
    fn wait<W: World>(&self, world: &W) {
        world.while_contended(self, || {
            let mut pauses = 1;
            loop {
                for _ in 0..pauses {
                    world.pause();
                }
                pauses = MOST_PAUSES.min(pauses << 1);
                self.word.wait_acquire(Awaited::is(FREE));
                if self.take() {
                    return;
                }
            }
        });
    }
}

impl<C> Make<C> for Ttas<C> {
    fn make(_: u32, mut word: impl FnMut(u32) -> C) -> Self {
        Self::new(word(FREE))
    }
}

impl<W: World, C: Word> RawLock<W> for Ttas<C> {
    const EXCLUDES: bool = true;
    const FIFO: bool = false;
    const TICKET_BITS: u32 = 0;

    #[inline(always)]
    fn lock(&self, world: &W) -> u32 {
        if !self.take() {
            self.wait(world);
        }
        0
    }

    #[inline(always)]
    fn try_lock(&self, _: &W) -> Option<u32> {
        self.take().then_some(0)
    }

    #[inline(always)]
    fn unlock(&self, _: &W, _: u32) {
        self.word.store_release(FREE);
    }

    #[inline(always)]
    fn is_locked(&self) -> bool {
        self.word.load_relaxed() != FREE
    }
}
