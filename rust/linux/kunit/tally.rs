// SPDX-License-Identifier: GPL-2.0-only

//! A world that counts what is done to its words, to see that TWA's long-term
//! path is really taken. As many threads take it as the threshold says.

use super::team::{reached, together, Muster};
use crate::{
    locks::{self, Awaited, Make, OneWordTwa, RawLock, Twa, World},
    spin::{Linux, Word},
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{Acquire, Atomic, Relaxed, Release},
        SetOnce,
    },
};

/// What was done to a word.
struct Tally {
    increments: Atomic<u32>,
    waits: Atomic<u32>,
}

impl Tally {
    const fn new() -> Self {
        Self {
            increments: Atomic::new(0),
            waits: Atomic::new(0),
        }
    }
}

/// The kernel's word, with its steps counted before they are taken.
struct Counted<'a> {
    word: Word,
    tally: &'a Tally,
}

impl<'a> Counted<'a> {
    fn new(value: u32, tally: &'a Tally) -> Self {
        Self {
            word: Word::new(value),
            tally,
        }
    }
}

impl locks::Word for Counted<'_> {
    fn load_relaxed(&self) -> u32 {
        self.word.load_relaxed()
    }

    fn load_acquire(&self) -> u32 {
        self.word.load_acquire()
    }

    fn store_relaxed(&self, value: u32) {
        self.word.store_relaxed(value);
    }

    fn store_release(&self, value: u32) {
        self.word.store_release(value);
    }

    fn swap_acq_rel(&self, value: u32) -> u32 {
        self.word.swap_acq_rel(value)
    }

    fn fetch_add_relaxed(&self, value: u32) -> u32 {
        self.tally.increments.add(1u32, Relaxed);
        self.word.fetch_add_relaxed(value)
    }

    fn fetch_add_acquire(&self, value: u32) -> u32 {
        self.tally.increments.add(1u32, Relaxed);
        self.word.fetch_add_acquire(value)
    }

    fn fetch_add_release(&self, value: u32) -> u32 {
        self.tally.increments.add(1u32, Relaxed);
        self.word.fetch_add_release(value)
    }

    fn inc_release(&self) {
        self.tally.increments.add(1u32, Relaxed);
        self.word.inc_release();
    }

    fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
        self.word.cmpxchg_relaxed(old, new)
    }

    fn cmpxchg_acquire(&self, old: u32, new: u32) -> bool {
        self.word.cmpxchg_acquire(old, new)
    }

    fn cmpxchg_release(&self, old: u32, new: u32) -> bool {
        self.word.cmpxchg_release(old, new)
    }

    fn wait_acquire(&self, awaited: Awaited) -> u32 {
        self.tally.waits.add(1u32, Relaxed);
        self.word.wait_acquire(awaited)
    }
}

/// A world whose waiting array has so many slots.
struct Array<'a, const SLOTS: usize>([Counted<'a>; SLOTS]);

impl<'a, const SLOTS: usize> World for Array<'a, SLOTS> {
    type Word = Counted<'a>;

    fn slot(&self, index: u32) -> &Counted<'a> {
        &self.0[index as usize % SLOTS]
    }

    fn pause(&self) {
        // SAFETY: There is no token and no node here.
        unsafe { Linux::new() }.pause();
    }
}

/// Waits and notifications up to some moment.
#[derive(Clone, Copy)]
pub(super) struct Counts {
    /// Short-term waits.
    pub(super) on_grant: u32,
    /// Long-term waits.
    pub(super) on_slot: u32,
    /// Notifications.
    pub(super) notified: u32,
}

/// [`Counts`] while the owner stays, and in the end.
pub(super) struct Seen {
    /// The waiters with no more than the threshold ahead.
    pub(super) near: u32,
    /// The others.
    pub(super) far: u32,
    pub(super) held: Counts,
    pub(super) end: Counts,
}

/// What is counted of the lock's words together, and of the slots together.
struct Tallies {
    lock: Tally,
    slots: Tally,
}

impl Tallies {
    const fn new() -> Self {
        Self {
            lock: Tally::new(),
            slots: Tally::new(),
        }
    }

    /// One thread owns a lock with this threshold until three wait. As many as that wait for their
    /// grants, the others long term. The owner gives up when it has seen fewer for too long.
    fn three_wait<'a, const SLOTS: usize, L>(&'a self, threshold: u32) -> Result<Seen>
    where
        L: Make<Counted<'a>> + RawLock<Array<'a, SLOTS>> + Sync,
    {
        let counts = || Counts {
            on_grant: self.lock.waits.load(Relaxed),
            on_slot: self.slots.waits.load(Relaxed),
            notified: self.slots.increments.load(Relaxed),
        };
        let far = 3u32.saturating_sub(threshold);
        let near = 3 - far;
        let world = Array(core::array::from_fn(|_| Counted::new(0, &self.slots)));
        let lock = L::make(0, |value| Counted::new(value, &self.lock));
        let held = SetOnce::new();
        let owned = Atomic::new(false);
        let muster = Muster::new(4);
        together(4, |id| {
            let _present = muster.fall_in();
            let owner = id == 0;
            // The others come once the owner has the lock. The acquire pairs with the release below.
            reached(|| owner || owned.load(Acquire));
            let mine = lock.lock(&world);
            if owner {
                owned.store(true, Release);
                reached(|| counts().on_grant == near && counts().on_slot == far);
                held.populate(counts());
            }
            lock.unlock(&world, mine);
        })?;
        Ok(Seen {
            near,
            far,
            held: held.copy().ok_or(EINVAL)?,
            end: counts(),
        })
    }
}

/// One thread owns a TWA lock, and three wait.
pub(super) fn twa<const THRESHOLD: u32, const SLOTS: usize>() -> Result<Seen> {
    Tallies::new().three_wait::<SLOTS, Twa<_, THRESHOLD>>(THRESHOLD)
}

/// The same with TWA in one word.
pub(super) fn one_word<const THRESHOLD: u32, const SLOTS: usize>() -> Result<Seen> {
    Tallies::new().three_wait::<SLOTS, OneWordTwa<_, THRESHOLD>>(THRESHOLD)
}
