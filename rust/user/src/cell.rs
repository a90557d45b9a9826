// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The word of a lock.

use core::{
    marker::PhantomData,
    sync::atomic::{
        AtomicU32,
        Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst},
    },
};

use handover_locks::{Awaited, Word};

use crate::policy::Policy;

/// The word of a lock, whose waiters wait as the policy says.
///
/// # Cost
///
/// The cost of an atomic. Where waiters sleep, each releasing operation looks for sleepers. A RMW is sequentially
/// consistent then. A store becomes a swap where there is no [`register_barrier`](crate::register_barrier).
///
/// # Examples
///
/// ```
/// use handover_locks::{Awaited, Word};
/// use handover_user::{Cell, Spin};
///
/// let word: Cell<Spin> = Cell::new(6);
/// word.inc_release();
/// assert_eq!(word.wait_acquire(Awaited::is(7)), 7);
/// ```
#[repr(transparent)]
pub struct Cell<P> {
    word: AtomicU32,
    policy: PhantomData<fn() -> P>,
}

impl<P> Cell<P> {
    /// A word that holds `value`.
    pub const fn new(value: u32) -> Self {
        Self {
            word: AtomicU32::new(value),
            policy: PhantomData,
        }
    }
}

impl<P: Policy> Cell<P> {
    /// The order of a releasing RMW. Where the policy wakes, row 1 of `park.rs` needs one order of all.
    #[inline(always)]
    fn release() -> Ordering {
        if P::wakes() {
            SeqCst
        } else {
            Release
        }
    }

    /// A releasing operation has left `value` in this word. It may be gone: only its address is used.
    #[inline(always)]
    fn released(word: *const AtomicU32, value: u32) {
        if P::wakes() {
            P::wake(word, value);
        }
    }
}

impl<P: Policy> Word for Cell<P> {
    #[inline(always)]
    fn load_relaxed(&self) -> u32 {
        self.word.load(Relaxed)
    }

    #[inline(always)]
    fn load_acquire(&self) -> u32 {
        self.word.load(Acquire)
    }

    #[inline(always)]
    fn store_relaxed(&self, value: u32) {
        self.word.store(value, Relaxed);
    }

    #[inline(always)]
    fn store_release(&self, value: u32) {
        P::store(&self.word, value);
    }

    #[inline(always)]
    fn swap_acq_rel(&self, value: u32) -> u32 {
        let word = &raw const self.word;
        let order = if P::wakes() { SeqCst } else { AcqRel };
        let before = self.word.swap(value, order);
        Self::released(word, value);
        before
    }

    #[inline(always)]
    fn fetch_add_relaxed(&self, value: u32) -> u32 {
        self.word.fetch_add(value, Relaxed)
    }

    #[inline(always)]
    fn fetch_add_acquire(&self, value: u32) -> u32 {
        self.word.fetch_add(value, Acquire)
    }

    #[inline(always)]
    fn fetch_add_release(&self, value: u32) -> u32 {
        let word = &raw const self.word;
        let before = self.word.fetch_add(value, Self::release());
        Self::released(word, before.wrapping_add(value));
        before
    }

    #[inline(always)]
    fn inc_release(&self) {
        self.fetch_add_release(1);
    }

    #[inline(always)]
    fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
        self.word
            .compare_exchange(old, new, Relaxed, Relaxed)
            .is_ok()
    }

    #[inline(always)]
    fn cmpxchg_acquire(&self, old: u32, new: u32) -> bool {
        self.word
            .compare_exchange(old, new, Acquire, Relaxed)
            .is_ok()
    }

    #[inline(always)]
    fn cmpxchg_release(&self, old: u32, new: u32) -> bool {
        let word = &raw const self.word;
        let is_written = self
            .word
            .compare_exchange(old, new, Self::release(), Relaxed)
            .is_ok();
        if is_written {
            Self::released(word, new);
        }
        is_written
    }

    #[inline(always)]
    fn wait_acquire(&self, awaited: Awaited) -> u32 {
        P::wait(&self.word, awaited)
    }
}
